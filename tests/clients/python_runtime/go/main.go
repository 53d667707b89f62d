// The Go SDK of agent-sandbox, as it is, in direct mode. What each case came to is a line of JSON on stdout.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

var root = os.Getenv("RUNTIME_ROOT")

func expect(ok bool, format string, values ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, values...)
}

func run(ctx context.Context, s *sandbox.Sandbox) error {
	result, err := s.Run(ctx, "echo out | cat; echo err >&2; exit 3")
	if err != nil {
		return err
	}
	return expect(result.Stdout == "out\n" && result.Stderr == "err\n" && result.ExitCode == 3, "%+v", result)
}

func oddNames(ctx context.Context, s *sandbox.Sandbox) error {
	names := []string{"with space.txt", "a%41.txt", "a+b&c=d?e#f.txt", "50%.txt", "quo'te.txt", "dou\"ble\".txt",
		"back\\slash.txt", "ends\\", "two\\\\slashes", "semi;colon.txt", "comma,.txt", "[glob]*.txt", "$HOME `x`.txt", "-rf", "~",
		"...", "café.txt", "日本語.txt", "😀.txt", "a:b|c<d>.txt", strings.Repeat("x", 255)}
	for _, name := range names {
		content := []byte(name + "\x00\r\n")
		if err := s.Write(ctx, name, content); err != nil {
			return err
		}
		kept, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(kept, content) {
			return fmt.Errorf("%q was not kept: %w", name, err)
		}
		read, err := s.Read(ctx, name)
		if err != nil || !bytes.Equal(read, content) {
			return fmt.Errorf("%q was not read: %w", name, err)
		}
		if there, err := s.Exists(ctx, name); err != nil || !there {
			return fmt.Errorf("%q is not there: %w", name, err)
		}
	}
	return nil
}

func largeFile(ctx context.Context, s *sandbox.Sandbox) error {
	data := make([]byte, 64<<20)
	_, _ = rand.Read(data)
	if err := s.Write(ctx, "large", data); err != nil {
		return err
	}
	read, err := s.Read(ctx, "large")
	if err != nil {
		return err
	}
	return expect(bytes.Equal(read, data), "%d bytes came back", len(read))
}

func list(ctx context.Context, s *sandbox.Sandbox) error {
	if _, err := s.Run(ctx, "mkdir -p tree/sub; printf 12345 > tree/f"); err != nil {
		return err
	}
	entries, err := s.List(ctx, "tree")
	if err != nil {
		return err
	}
	ok := len(entries) == 2 && entries[0].Name == "f" && entries[0].Size == 5 && entries[1].Type == "directory" && entries[0].ModTime > 1e9
	if err := expect(ok, "%+v", entries); err != nil {
		return err
	}
	_, err = s.List(ctx, ".")
	return err
}

func muchOutput(ctx context.Context, s *sandbox.Sandbox) error {
	result, err := s.Run(ctx, "head -c 50000000 /dev/zero; echo end")
	if err != nil {
		return err
	}
	return expect(strings.HasSuffix(result.Stdout, "end\n") && strings.Contains(result.Stderr, "left out"), "%q", result.Stderr)
}

func errorsHaveTheirStatus(ctx context.Context, s *sandbox.Sandbox) error {
	var status *sandbox.HTTPError
	if _, err := s.Read(ctx, "nope"); !errors.As(err, &status) || status.StatusCode != 404 {
		return fmt.Errorf("read: %w", err)
	}
	if _, err := s.List(ctx, "../../etc"); !errors.As(err, &status) || status.StatusCode != 403 {
		return fmt.Errorf("list: %w", err)
	}
	return nil
}

func cancelledRun(ctx context.Context, s *sandbox.Sandbox) error {
	short, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(short, "echo $$ > pid.new; mv pid.new pid; sleep 300")
		done <- err
	}()
	var pid []byte
	for len(pid) == 0 {
		time.Sleep(10 * time.Millisecond)
		pid, _ = os.ReadFile(filepath.Join(root, "pid"))
	}
	cancel()
	if err := <-done; err == nil {
		return errors.New("it was answered")
	}
	for range 1000 {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err != nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("it still runs")
}

func main() {
	ctx := context.Background()
	client, err := sandbox.NewClient(ctx, sandbox.Options{WarmPoolName: "pool", APIURL: os.Getenv("RUNTIME_URL"), Quiet: true})
	if err != nil {
		panic(err)
	}
	made, err := client.CreateSandbox(ctx, "pool", "default")
	if err != nil {
		panic(err)
	}
	defer client.DeleteAll(ctx)
	for _, one := range []struct {
		name string
		run  func(context.Context, *sandbox.Sandbox) error
	}{
		{"run", run}, {"odd_names", oddNames}, {"large_file", largeFile}, {"list", list}, {"much_output", muchOutput},
		{"errors_have_their_status", errorsHaveTheirStatus}, {"cancelled_run", cancelledRun},
	} {
		told := map[string]any{"case": one.name, "failure": nil}
		if err := one.run(ctx, made); err != nil {
			told["failure"] = err.Error()
		}
		line, _ := json.Marshal(told)
		fmt.Println(string(line))
	}
}
