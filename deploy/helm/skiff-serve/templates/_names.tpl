{{- define "skiff-serve.labels" -}}
app.kubernetes.io/name: skiff-serve
{{- end }}

{{/* The labels and annotations of an object. Call it with the root context, and with `labels` and `annotations` of its own. */}}
{{- define "skiff-serve.describe" -}}
labels:
  {{- merge (fromYaml (include "skiff-serve.labels" .root)) (.labels | default dict) .root.Values.labels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "skiff-serve.metadata" -}}
name: skiff-serve
namespace: {{ .Release.Namespace }}
{{ include "skiff-serve.describe" (dict "root" .) }}
{{- end }}

{{/* `skiff rbac serve` writes this name on accounts and roles. */}}
{{- define "skiff-serve.describe-rights" -}}
labels:
  {{- merge (dict "app.kubernetes.io/name" "skiff") .Values.labels | toYaml | nindent 2 }}
{{- with .Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The port of the OTLP endpoint. */}}
{{- define "skiff-serve.otlp-port" -}}
{{- $url := urlParse .Values.otlp.endpoint -}}
{{- $port := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) -}}
{{- $port | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end }}

{{/* The rules of files/rbac.yaml, which `skiff rbac serve` has written, by the place of their Role: home or tenant. */}}
{{- define "skiff-serve.rules" -}}
{{- $rules := dict -}}
{{- range splitList "---\n" (.Files.Get "files/rbac.yaml") -}}
{{- $object := fromYaml . -}}
{{- if eq $object.kind "Role" -}}
{{- $_ := set $rules (ternary "home" "tenant" (eq $object.metadata.namespace "skiff-serve")) $object.rules -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end }}
