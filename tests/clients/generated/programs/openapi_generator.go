// What openapi-generator's `go` makes (the package skiff beside this file), used. It reads an answer to its end before it
// returns, so the output of a command is followed to its end. Prints what test_generated_clients.py expects.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"example/skiff"
)

var ctx = context.WithValue(context.Background(), skiff.ContextAccessToken, os.Getenv("SKIFF_TOKEN"))

func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func status(response *http.Response, err error) int {
	if err != nil {
		log.Fatal(err)
	}
	return response.StatusCode
}

func to[T any](value T) *T { return &value }

// file holds bytes, as the generated code takes them.
func file(data []byte) *os.File {
	made, err := os.CreateTemp("", "skiff-")
	if err != nil {
		log.Fatal(err)
	}
	os.Remove(made.Name())
	made.Write(data)
	made.Seek(0, io.SeekStart)
	return made
}

func bytesOf(file *os.File) []byte {
	defer os.Remove(file.Name())
	data, err := io.ReadAll(file)
	if err != nil {
		log.Fatal(err)
	}
	return data
}

type client struct{ *skiff.APIClient }

func (c client) background(command, id string, stdinOpen bool) *skiff.StartedCommand {
	body := skiff.CommandRequest{Command: &command, Id: &id, Mode: to(skiff.COMMANDMODE_BACKGROUND), StdinOpen: &stdinOpen}
	return must(c.CommandsAPI.StartCommand(ctx, "default").CommandRequest(body).Execute())
}

func (c client) ended(id string) *skiff.Command {
	return must(c.CommandsAPI.ShowCommand(ctx, "default", id).WaitMs(30000).Execute())
}

func (c client) put(path string, data []byte) *skiff.FileEntry {
	return must(c.FilesAPI.WriteFile(ctx, "default", path).Body(file(data)).Execute())
}

func main() {
	configuration := skiff.NewConfiguration()
	configuration.Servers = skiff.ServerConfigurations{{URL: os.Getenv("SKIFF_URL")}}
	c := client{skiff.NewAPIClient(configuration)}

	done := must(c.CommandsAPI.StartCommand(ctx, "default").
		CommandRequest(skiff.CommandRequest{Command: to("echo out; echo err >&2; exit 3")}).Execute())
	fmt.Println("wait", strings.TrimSpace(done.GetStdout()), strings.TrimSpace(done.GetStderr()), done.GetExitCode())

	fmt.Println("background", c.background("exec cat", "cat", true).State)
	status(c.CommandsAPI.WriteStdin(ctx, "default", "cat").Body(file([]byte("hello world"))).Eof(true).Execute())
	fmt.Println("stdin", c.ended("cat").GetExitCode())
	fmt.Println("output", string(bytesOf(must(c.CommandsAPI.ReadOutput(ctx, "default", "cat").From(6).Execute()))))

	c.put("go", []byte("on"))
	c.background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live", false)
	text := string(bytesOf(must(c.CommandsAPI.ReadOutput(ctx, "default", "live").Follow(true).Execute())))
	fmt.Println("stream", strings.ReplaceAll(text, "\n", " ")+fmt.Sprint("exit ", c.ended("live").GetExitCode()))

	c.background("exec sleep 600", "asleep", false)
	status(c.CommandsAPI.SignalCommand(ctx, "default", "asleep").SignalRequest(*skiff.NewSignalRequest("TERM")).Execute())
	fmt.Println("signal", c.ended("asleep").GetSignal())

	must(c.SessionsAPI.CreateSession(ctx).SessionRequest(skiff.SessionRequest{Id: to("other"), Env: &map[string]*string{"A": to("value")}}).Execute())
	done = must(c.CommandsAPI.StartCommand(ctx, "other").CommandRequest(skiff.CommandRequest{Command: to("echo $A")}).Execute())
	fmt.Println("session", strings.TrimSpace(done.GetStdout()), status(c.SessionsAPI.DeleteSession(ctx, "other").Execute()))

	var data []byte
	for i := range 256 {
		data = append(data, byte(i))
	}
	entry := c.put("dir/a b.bin", data)
	same := "False"
	if bytes.Equal(bytesOf(must(c.FilesAPI.ReadFile(ctx, "default", "dir/a b.bin").Execute())), data) {
		same = "True"
	}
	fmt.Println("file", entry.Size, same)
	found := bytesOf(must(c.FilesAPI.GlobFiles(ctx, "default").Pattern("dir/*").Execute()))
	line, _, _ := bytes.Cut(found, []byte("\n"))
	var record skiff.GlobRecord
	if err := record.UnmarshalJSON(line); err != nil {
		log.Fatal(err)
	}
	fmt.Println("found", record.GetPath())

	script := bytesOf(must(c.FrontDoorAPI.RunScript(ctx).Body(file([]byte("echo one; echo two"))).Execute()))
	fmt.Println("script", strings.TrimSpace(strings.ReplaceAll(string(script), "\n", " ")))
	_, _, err := c.SessionsAPI.ShowSession(ctx, "nope").Execute()
	var refused *skiff.GenericOpenAPIError
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	problem := refused.Model().(skiff.Problem)
	fmt.Println("error", problem.Status, problem.Code)
}
