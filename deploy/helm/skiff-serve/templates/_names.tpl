{{- define "skiff-serve.labels" -}}
app.kubernetes.io/name: skiff-serve
{{- end }}

{{- define "skiff-serve.metadata" -}}
name: skiff-serve
namespace: {{ .Release.Namespace }}
labels:
  {{- include "skiff-serve.labels" . | nindent 2 }}
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
