// grpc-go with the stubs that the original's own clients and tests are built of. What each case came to is a line of JSON on
// stdout.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	processv1 "sigs.k8s.io/agent-sandbox/packages/sandboxd/spec/process/v1"
)

var root = os.Getenv("RUNTIME_ROOT")

type clients struct {
	channel *grpc.ClientConn
	process processv1.ProcessServiceClient
}

func expect(ok bool, format string, values ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, values...)
}

func config(command ...string) *processv1.ProcessConfig {
	return &processv1.ProcessConfig{Command: command}
}

// start gives a Start and its process's number.
func start(ctx context.Context, c clients, request *processv1.StartRequest) (processv1.ProcessService_StartClient, int32, error) {
	stream, err := c.process.Start(ctx, request)
	if err != nil {
		return nil, 0, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, 0, err
	}
	return stream, first.GetInit().GetProcessId(), expect(first.GetInit() != nil, "%v", first)
}

// rest gives what a Start still tells: stdout, stderr, the exit code.
func rest(stream processv1.ProcessService_StartClient) (out, errs []byte, code int32, err error) {
	code = -1000
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, errs, code, nil
		}
		if err != nil {
			return out, errs, code, err
		}
		out = append(out, event.GetStdout()...)
		errs = append(errs, event.GetStderr()...)
		if event.GetExit() != nil {
			code = event.GetExit().GetExitCode()
		}
	}
}

func write(ctx context.Context, c clients, id int32, input []byte) error {
	_, err := c.process.WriteStdin(ctx, &processv1.WriteStdinRequest{
		ProcessId: id, Payload: &processv1.WriteStdinRequest_Input{Input: input}})
	return err
}

func end(ctx context.Context, c clients, id int32) error {
	_, err := c.process.WriteStdin(ctx, &processv1.WriteStdinRequest{
		ProcessId: id, Payload: &processv1.WriteStdinRequest_Eof{Eof: &emptypb.Empty{}}})
	return err
}

func execute(ctx context.Context, c clients) error {
	got, err := c.process.Execute(ctx, &processv1.ExecuteRequest{Config: config("sh", "-c", "echo out; echo err >&2; exit 3")})
	if err != nil {
		return err
	}
	return expect(string(got.Stdout) == "out\n" && string(got.Stderr) == "err\n" && got.ExitCode == 3, "%v", got)
}

func errorCodes(ctx context.Context, c clients) error {
	away := config("true")
	away.Cwd = new(string)
	*away.Cwd = "../.."
	for _, one := range []struct {
		config *processv1.ProcessConfig
		code   codes.Code
	}{{nil, codes.InvalidArgument}, {away, codes.PermissionDenied}, {config("/no/such/program"), codes.NotFound}} {
		_, err := c.process.Execute(ctx, &processv1.ExecuteRequest{Config: one.config})
		if status.Code(err) != one.code {
			return fmt.Errorf("not %v: %w", one.code, err)
		}
	}
	_, err := c.process.SendSignal(ctx, &processv1.SendSignalRequest{ProcessId: 99999, Signal: processv1.Signal_SIGNAL_SIGTERM})
	return expect(status.Code(err) == codes.NotFound, "%v", err)
}

func signals(ctx context.Context, c clients) error {
	stream, id, err := start(ctx, c, &processv1.StartRequest{Config: config("sleep", "1000")})
	if err != nil {
		return err
	}
	if _, err = c.process.SendSignal(ctx, &processv1.SendSignalRequest{ProcessId: id, Signal: processv1.Signal_SIGNAL_SIGTERM}); err != nil {
		return err
	}
	_, _, code, err := rest(stream)
	return errors.Join(err, expect(code == -1, "%d", code))
}

func terminal(ctx context.Context, c clients) error {
	stream, id, err := start(ctx, c, &processv1.StartRequest{
		Config: config("sh", "-c", "read x; stty size"), Pty: &processv1.PTY{Cols: 80, Rows: 24}})
	if err != nil {
		return err
	}
	if _, err = c.process.ResizeTTY(ctx, &processv1.ResizeTTYRequest{ProcessId: id, Cols: 120, Rows: 40}); err != nil {
		return err
	}
	if err = write(ctx, c, id, []byte("\n")); err != nil {
		return err
	}
	out, _, code, err := rest(stream)
	return errors.Join(err, expect(bytes.Contains(out, []byte("40 120")) && code == 0, "%q", out))
}

func bothWays(ctx context.Context, c clients) error {
	stream, id, err := start(ctx, c, &processv1.StartRequest{Config: config("cat")})
	if err != nil {
		return err
	}
	data := make([]byte, 20_000_000)
	_, _ = rand.Read(data)
	written := make(chan error, 1)
	go func() { written <- errors.Join(write(ctx, c, id, data), end(ctx, c, id)) }()
	out, _, code, err := rest(stream)
	if err = errors.Join(err, <-written, expect(bytes.Equal(out, data) && code == 0, "%d bytes", len(out))); err != nil {
		return err
	}
	got, err := c.process.Execute(ctx, &processv1.ExecuteRequest{Config: config("head", "-c", "20000000", "/dev/zero")})
	return errors.Join(err, expect(len(got.GetStdout()) == 20_000_000, "%d bytes", len(got.GetStdout())))
}

func hundredStreams(ctx context.Context, c clients) error {
	var all sync.WaitGroup
	failures := make([]error, 100)
	for n := range failures {
		all.Go(func() {
			stream, id, err := start(ctx, c, &processv1.StartRequest{Config: config("cat")})
			if err != nil {
				failures[n] = err
				return
			}
			text := fmt.Sprint(n)
			err = errors.Join(write(ctx, c, id, []byte(text)), end(ctx, c, id))
			out, _, code, broke := rest(stream)
			failures[n] = errors.Join(err, broke, expect(string(out) == text && code == 0, "%q", out))
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// endings: a deadline and a cancellation end the tree, what has left the session too.
func endings(ctx context.Context, c clients) error {
	for _, one := range []struct {
		name  string
		limit time.Duration
		code  codes.Code
	}{{"deadline", time.Second, codes.DeadlineExceeded}, {"cancelled", time.Hour, codes.Canceled}} {
		short, cancel := context.WithTimeout(ctx, one.limit)
		line := fmt.Sprintf("setsid sh -c 'echo $$ > %[1]s.new; mv %[1]s.new %[1]s; sleep 1000' & wait", one.name)
		done := make(chan error, 1)
		go func() {
			_, err := c.process.Execute(short, &processv1.ExecuteRequest{Config: config("sh", "-c", line)})
			done <- err
		}()
		var pid []byte
		for len(pid) == 0 {
			time.Sleep(10 * time.Millisecond)
			pid, _ = os.ReadFile(filepath.Join(root, one.name))
		}
		if one.code == codes.Canceled {
			cancel()
		}
		err := <-done
		cancel()
		if status.Code(err) != one.code {
			return fmt.Errorf("not %v: %w", one.code, err)
		}
		if err := ends(strings.TrimSpace(string(pid))); err != nil {
			return err
		}
	}
	return nil
}

func ends(pid string) error {
	for range 3000 {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("it still runs")
}

func health(ctx context.Context, c clients) error {
	got, err := grpc_health_v1.NewHealthClient(c.channel).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "process.v1.ProcessService"})
	return errors.Join(err, expect(got.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, "%v", got))
}

func reflectionV1(ctx context.Context, c clients) error {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(c.channel).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.CloseSend() }()
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "process.v1.PTY"}}); err != nil {
		return err
	}
	got, err := stream.Recv()
	return errors.Join(err, expect(len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 2, "%v", got))
}

func reflectionV1Alpha(ctx context.Context, c clients) error {
	stream, err := grpc_reflection_v1alpha.NewServerReflectionClient(c.channel).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.CloseSend() }()
	if err := stream.Send(&grpc_reflection_v1alpha.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1alpha.ServerReflectionRequest_ListServices{}}); err != nil {
		return err
	}
	got, err := stream.Recv()
	return errors.Join(err, expect(len(got.GetListServicesResponse().GetService()) == 4, "%v", got))
}

func main() {
	ctx := context.Background()
	channel, err := grpc.NewClient(os.Getenv("RUNTIME_GRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		panic(err)
	}
	defer func() { _ = channel.Close() }()
	c := clients{channel, processv1.NewProcessServiceClient(channel)}
	for _, one := range []struct {
		name string
		run  func(context.Context, clients) error
	}{
		{"execute", execute}, {"error_codes", errorCodes}, {"signals", signals}, {"terminal", terminal}, {"20_mb_both_ways", bothWays},
		{"a_hundred_streams", hundredStreams}, {"endings", endings}, {"health", health}, {"reflection_v1", reflectionV1},
		{"reflection_v1alpha", reflectionV1Alpha},
	} {
		told := map[string]any{"case": one.name, "failure": nil}
		if err := one.run(ctx, c); err != nil {
			told["failure"] = err.Error()
		}
		line, _ := json.Marshal(told)
		fmt.Println(string(line))
	}
}
