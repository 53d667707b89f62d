// What oapi-codegen makes (the package skiff beside this file), used. Prints what test_generated_clients.py expects.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"example/skiff"
)

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func to[T any](value T) *T { return &value }

type client struct{ *skiff.ClientWithResponses }

func (c client) background(command, id string, stdinOpen bool) *skiff.StartedCommand {
	body := skiff.CommandRequest{Command: &command, Id: &id, Mode: to(skiff.CommandModeBackground), StdinOpen: &stdinOpen}
	return must(c.StartCommandWithResponse(ctx, "default", nil, body)).JSON202
}

func (c client) ended(id string) *skiff.Command {
	return must(c.ShowCommandWithResponse(ctx, "default", id, &skiff.ShowCommandParams{WaitMs: to[int64](30000)})).JSON200
}

func (c client) put(path string, data []byte) *skiff.FileEntry {
	return must(c.WriteFileWithBodyWithResponse(ctx, "default", path, nil, "application/octet-stream", bytes.NewReader(data))).JSON201
}

// follow calls what it is given with each event, when it comes.
func (c client) follow(id string, each func(skiff.Event)) {
	response := must(c.ReadOutput(ctx, "default", id, &skiff.ReadOutputParams{Follow: to(true)}))
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		each(event(lines.Bytes()))
	}
}

func event(line []byte) (event skiff.Event) {
	if err := json.Unmarshal(line, &event); err != nil {
		log.Fatal(err)
	}
	return event
}

func main() {
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("SKIFF_TOKEN"))
		return nil
	}
	c := client{must(skiff.NewClientWithResponses(os.Getenv("SKIFF_URL"), skiff.WithRequestEditorFn(token)))}

	done := must(c.StartCommandWithResponse(ctx, "default", nil, skiff.CommandRequest{Command: to("echo out; echo err >&2; exit 3")})).JSON200
	fmt.Println("wait", strings.TrimSpace(*done.Stdout), strings.TrimSpace(*done.Stderr), *done.ExitCode)

	fmt.Println("background", c.background("exec cat", "cat", true).State)
	must(c.WriteStdinWithBodyWithResponse(ctx, "default", "cat", &skiff.WriteStdinParams{Eof: to(true)}, "application/octet-stream",
		strings.NewReader("hello world")))
	fmt.Println("stdin", *c.ended("cat").ExitCode)
	output := must(c.ReadOutputWithResponse(ctx, "default", "cat", &skiff.ReadOutputParams{From: to[int64](6)}))
	text := ""
	for line := range bytes.Lines(output.Body) {
		if one := event(line); one.Type == skiff.EventTypeOutput {
			text += *one.Data
		}
	}
	fmt.Println("output", text)

	c.background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live", false)
	text = ""
	c.follow("live", func(one skiff.Event) {
		switch one.Type {
		case skiff.EventTypeOutput:
			text += strings.ReplaceAll(*one.Data, "\n", " ")
			c.put("go", nil)
		case skiff.EventTypeExit:
			text += fmt.Sprint("exit ", *one.ExitCode)
		}
	})
	fmt.Println("stream", text)

	c.background("exec sleep 600", "asleep", false)
	must(c.SignalCommandWithResponse(ctx, "default", "asleep", skiff.SignalRequest{Signal: "TERM"}))
	fmt.Println("signal", *c.ended("asleep").Signal)

	must(c.CreateSessionWithResponse(ctx, skiff.SessionRequest{Id: to("other"), Env: &map[string]*string{"A": to("value")}}))
	done = must(c.StartCommandWithResponse(ctx, "other", nil, skiff.CommandRequest{Command: to("echo $A")})).JSON200
	deleted := must(c.DeleteSessionWithResponse(ctx, "other", nil))
	fmt.Println("session", strings.TrimSpace(*done.Stdout), deleted.StatusCode())

	var data []byte
	for i := range 256 {
		data = append(data, byte(i))
	}
	entry := c.put("dir/a b.bin", data)
	read := must(c.ReadFileWithResponse(ctx, "default", "dir/a b.bin", nil))
	same := "False"
	if bytes.Equal(read.Body, data) {
		same = "True"
	}
	fmt.Println("file", entry.Size, same)
	found := must(c.GlobFilesWithResponse(ctx, "default", &skiff.GlobFilesParams{Pattern: "dir/*"}))
	var record skiff.GlobRecord
	line, _, _ := bytes.Cut(found.Body, []byte("\n"))
	if err := json.Unmarshal(line, &record); err != nil {
		log.Fatal(err)
	}
	fmt.Println("found", *record.Path)

	script := must(c.RunScriptWithBodyWithResponse(ctx, nil, "application/octet-stream", strings.NewReader("echo one; echo two")))
	fmt.Println("script", strings.TrimSpace(strings.ReplaceAll(string(script.Body), "\n", " ")))
	problem := must(c.ShowSessionWithResponse(ctx, "nope")).ApplicationproblemJSON404
	fmt.Println("error", problem.Status, problem.Code)
}
