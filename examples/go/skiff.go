// A client of skiffd in one file, with Go's standard library alone (1.19 or newer): go run skiff.go run 'echo hello'
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

const usage = `usage: skiff run COMMAND | stream COMMAND | put LOCAL REMOTE | get REMOTE LOCAL |
                    edit REMOTE OLD NEW | grep PATTERN [DIRECTORY] | shell`

// object is one of JSON: a result, or an event of a stream.
type object map[string]any

func (o object) text(name string) string { text, _ := o[name].(string); return text }
func (o object) number(name string) int  { number, _ := o[name].(float64); return int(number) }
func (o object) json() io.Reader         { text, _ := json.Marshal(o); return bytes.NewReader(text) }

// bytes is text, or base64 under NAME_base64 where it isn't UTF-8.
func (o object) bytes(name string) []byte {
	if raw, err := base64.StdEncoding.DecodeString(o.text(name + "_base64")); err == nil && len(raw) > 0 {
		return raw
	}
	return []byte(o.text(name))
}

func (o object) status() int {
	if o["exit_code"] == nil {
		return 128 + map[string]int{"SIGHUP": 1, "SIGINT": 2, "SIGABRT": 6, "SIGKILL": 9, "SIGSEGV": 11, "SIGTERM": 15}[o.text("signal")]
	}
	return o.number("exit_code")
}

var errRefused = errors.New("refused") // with what the agent answered: a sentence for people and a stable word

type skiff struct{ url, token, base string }

func (s skiff) file(path string) string { return s.base + "/files/" + url.PathEscape(path) } // %2F: even ../x arrives

// open makes a request: the answer, whose body has not been read yet.
func (s skiff) open(method, path string, body io.Reader) (*http.Response, error) {
	request := must(http.NewRequest(method, s.url+path, body))
	request.Header = http.Header{"Authorization": {"Bearer " + s.token}, "Content-Type": {"application/json"}}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode < 400 {
		return answer, err
	}
	problem := each(answer, func(object) {})
	return nil, fmt.Errorf("%w: %s [%s]", errRefused, problem.text("detail"), problem.text("code"))
}

// each calls handle with every whole object of an answer, and returns the last one: the only one, of most.
func each(answer *http.Response, handle func(object)) (last object) {
	lines := json.NewDecoder(answer.Body)
	for next := (object{}); lines.Decode(&next) == nil; next = (object{}) {
		last = next
		handle(last)
	}
	return last
}

// stream gives the events of a command as they happen. The id is ours, so it is started once however often it is asked for,
// and whatever happens to the connection, its log is read on from behind the last event that came.
func (s skiff) stream(fields object, handle func(object)) object {
	id, next := fmt.Sprintf("c-%x-%x", time.Now().UnixNano(), os.Getpid()), -1
	fields["id"], fields["mode"] = id, "stream"
	for failures := 0; failures < 8; failures++ {
		method, path, body := "POST", s.base+"/commands", fields.json()
		if next >= 0 {
			method, path, body = "GET", fmt.Sprintf("%s/%s/output?follow=true&lossless=true&from=%d", path, id, next), nil
		}
		answer, err := s.open(method, path, body)
		if err == nil {
			exit := each(answer, func(event object) {
				failures = 0
				if event["next"] != nil || next < 0 {
					next = event.number("next")
				}
				handle(event)
			})
			if exit["type"] == "exit" {
				return exit
			}
		} else if errors.Is(err, errRefused) {
			must(0, err)
		}
		time.Sleep(50 * time.Millisecond << failures)
	}
	return must(object{}, errors.New("the connection was cut again and again"))
}

// terminal: what is typed goes to a shell, what it prints comes here, until it ends. No WebSocket is needed for that.
func (s skiff) terminal() object {
	rows, cols := 24, 80
	if size := stty("size"); size != "0 0" { // else it was never told its size
		_, _ = fmt.Sscan(size, &rows, &cols)
	}
	shell := object{"command": "exec sh -i", "tty": object{"rows": rows, "cols": cols}, "stdin_open": true, "on_disconnect": "kill"}
	if before := stty("-g"); before != "" { // else it isn't a terminal
		restore = func() { stty(before) }
		stty("raw", "-echo")
		shell["command"] = "exec $SHELL -i" // its editor of lines may lose what is piped in before it begins
	}
	defer restore()
	return s.stream(shell, func(event object) {
		if show(event); event["type"] == "started" {
			command := s.base + "/commands/" + event.text("id")
			go func() {
				typed, input := make([]byte, 4096), io.MultiReader(os.Stdin, strings.NewReader("\x04")) // at its end Ctrl-D
				for count, err := input.Read(typed); err == nil; count, err = input.Read(typed) {
					_, _ = s.open("POST", command+"/stdin", bytes.NewReader(typed[:count]))
				}
			}()
		}
	})
}

var restore = func() {} // puts the terminal back as it was
func stty(arguments ...string) string {
	command := exec.Command("stty", arguments...)
	command.Stdin = os.Stdin
	out, _ := command.Output()
	return strings.TrimSpace(string(out))
}

func must[T any](value T, err error) T {
	if err != nil {
		restore()
		fmt.Fprintln(os.Stderr, "skiff:", err)
		os.Exit(125) // the exit status of what is no command's own, as docker has it
	}
	return value
}

func show(event object) {
	if event["type"] == "gap" {
		fmt.Fprintf(os.Stderr, "skiff: %d bytes were dropped\n", event.number("to")-event.number("from"))
	} else if sink := map[string]io.Writer{"stdout": os.Stdout, "stderr": os.Stderr}[event.text("stream")]; sink != nil {
		must(sink.Write(event.bytes("data")))
	}
}

func main() {
	s, status, given := skiff{os.Getenv("SKIFF_URL"), os.Getenv("SKIFF_TOKEN"), "/v1/sessions/default"}, 0, append(os.Args, "", "")[2:]
	must(0, map[bool]error{true: errors.New("SKIFF_TOKEN is not set: `make run` prints the line that sets it")}[s.token == "" && len(os.Args) > 1])
	switch fmt.Sprint(append(os.Args, "")[1], len(os.Args)-2) {
	case "run1":
		command := object{"command": given[0], "on_disconnect": "kill"}
		result := each(must(s.open("POST", s.base+"/commands", command.json())), func(object) {})
		must(os.Stdout.Write(result.bytes("stdout")))
		must(os.Stderr.Write(result.bytes("stderr")))
		status = result.status()
	case "stream1":
		status = s.stream(object{"command": given[0]}, func(event object) {
			if show(event); event["type"] == "started" { // Ctrl-C is the command's
				interrupted := make(chan os.Signal, 1)
				signal.Notify(interrupted, os.Interrupt)
				go func() {
					for range interrupted {
						must(s.open("POST", s.base+"/commands/"+event.text("id")+"/signal", object{"signal": "SIGINT"}.json()))
					}
				}()
			}
		}).status()
	case "put2":
		must(s.open("PUT", s.file(given[1]), must(os.Open(given[0]))))
	case "get2":
		answer := must(s.open("GET", s.file(given[0]), nil))
		must(io.Copy(must(os.Create(given[1])), answer.Body))
	case "edit3":
		edits := object{"edits": []object{{"old": given[1], "new": given[2]}}}.json()
		each(must(s.open("PATCH", s.file(given[0]), edits)), func(done object) { fmt.Print(done.text("diff")) })
	case "grep1", "grep2":
		query := url.Values{"pattern": given[:1], "path": given[1 : len(os.Args)-2]}
		status = 1
		each(must(s.open("GET", s.base+"/files:grep?"+query.Encode(), nil)), func(found object) {
			if found["line_number"] != nil {
				fmt.Printf("%s:%d:%s\n", found.text("path"), found.number("line_number"), found.bytes("text"))
				status = 0
			}
		})
	case "shell0":
		status = s.terminal().status()
	default:
		must(0, errors.New(usage))
	}
	os.Exit(status)
}
