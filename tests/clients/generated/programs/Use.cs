// What openapi-generator's `csharp` makes, used. It reads an answer to its end before it returns, so the output
// of a command is followed to its end. Prints what test_generated_clients.py expects.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Skiff.Api;
using Skiff.Client;
using Skiff.Extensions;
using Skiff.Model;

public static class Use
{
    static ICommandsApi commands;
    static IFilesApi files;
    static JsonSerializerOptions json;

    static IServiceProvider Services()
    {
        var services = new ServiceCollection().AddLogging();
        services.AddApi(options =>
        {
            string token = Environment.GetEnvironmentVariable("SKIFF_TOKEN");
            var between = TimeSpan.FromMilliseconds(1); // a token is given out again after that
            options.AddTokens(new BearerToken(token, between));
            options.AddTokens(new ApiKeyToken(token, ClientUtils.ApiKeyHeader.X_Skiff_Token, "", between));
            options.AddApiHttpClients(client => client.BaseAddress = new Uri(Environment.GetEnvironmentVariable("SKIFF_URL")));
        });
        return services.BuildServiceProvider();
    }

    /// <summary>What an answer has, where it is not a failure.</summary>
    static T Checked<T>(T answer) where T : IApiResponse =>
        answer.IsSuccessStatusCode ? answer : throw new Exception(answer.RawContent);

    static async Task<StartedCommand> Start(string session, CommandRequest request)
    {
        var answer = Checked(await commands.StartCommandAsync(session, request));
        return answer.IsOk ? answer.Ok() : answer.Accepted();
    }

    static Task<StartedCommand> Background(string command, string id, bool stdinOpen = false) =>
        Start("default", new CommandRequest(command: command, id: id, mode: CommandMode.Background, stdinOpen: stdinOpen));

    static async Task<Command> Ended(string id) => Checked(await commands.ShowCommandAsync("default", id, waitMs: 30000)).Ok();

    static FileParameter Body(byte[] data) => new FileParameter(new MemoryStream(data));

    static FileParameter Body(string text) => Body(Encoding.UTF8.GetBytes(text));

    static byte[] BytesOf(Stream stream) => ((MemoryStream)stream).ToArray();

    static string TextOf(Stream stream) => Encoding.UTF8.GetString(BytesOf(stream));

    static string Squeezed(string text) => text.Replace("\n", " ");

    static async Task<FileEntry> Put(string path, byte[] data)
    {
        var answer = Checked(await files.WriteFileAsync("default", path, body: Body(data)));
        return answer.IsOk ? answer.Ok() : answer.Created();
    }

    public static async Task Main()
    {
        var services = Services();
        commands = services.GetRequiredService<ICommandsApi>();
        files = services.GetRequiredService<IFilesApi>();
        json = services.GetRequiredService<JsonSerializerOptionsProvider>().Options;
        var sessions = services.GetRequiredService<ISessionsApi>();

        var done = await Start("default", new CommandRequest(command: "echo out; echo err >&2; exit 3"));
        Console.WriteLine($"wait {done.Stdout.Trim()} {done.Stderr.Trim()} {done.ExitCode}");

        var cat = await Background("exec cat", "cat", true);
        Console.WriteLine($"background {CommandStateValueConverter.ToJsonValue(cat.State)}");
        Checked(await commands.WriteStdinAsync("default", "cat", eof: true, body: Body("hello world")));
        Console.WriteLine($"stdin {(await Ended("cat")).ExitCode}");
        Console.WriteLine($"output {TextOf(Checked(await commands.ReadOutputAsync("default", "cat", from: 6)).Ok())}");

        await Put("go", Encoding.UTF8.GetBytes("on"));
        await Background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live");
        var live = TextOf(Checked(await commands.ReadOutputAsync("default", "live", follow: true)).Ok());
        Console.WriteLine($"stream {Squeezed(live)}exit {(await Ended("live")).ExitCode}");

        await Background("exec sleep 600", "asleep");
        Checked(await commands.SignalCommandAsync("default", "asleep", new SignalRequest("TERM")));
        Console.WriteLine($"signal {(await Ended("asleep")).Signal}");

        var env = new Dictionary<string, string> { ["A"] = "value" };
        Checked(await sessions.CreateSessionAsync(new SessionRequest(id: "other", env: env)));
        done = await Start("other", new CommandRequest(command: "echo $A"));
        var deleted = await sessions.DeleteSessionAsync("other");
        Console.WriteLine($"session {done.Stdout.Trim()} {(int)deleted.StatusCode}");

        var data = Enumerable.Range(0, 256).Select(i => (byte)i).ToArray();
        var entry = await Put("dir/a b.bin", data);
        var same = BytesOf(Checked(await files.ReadFileAsync("default", "dir/a b.bin")).Ok()).SequenceEqual(data);
        Console.WriteLine($"file {entry.Size} {same}");
        var found = TextOf(Checked(await files.GlobFilesAsync("default", "dir/*")).Ok()).Split('\n')[0];
        Console.WriteLine($"found {JsonSerializer.Deserialize<GlobRecord>(found, json).Path}");

        var script = Checked(await services.GetRequiredService<IFrontDoorApi>().RunScriptAsync(Body("echo one; echo two")));
        Console.WriteLine($"script {Squeezed(TextOf(script.Ok())).Trim()}");
        var problem = (await sessions.ShowSessionAsync("nope")).NotFound();
        Console.WriteLine($"error {problem.Status} {problem.Code}");
    }
}
