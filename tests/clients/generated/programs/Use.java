// What openapi-generator's `java` makes, used. It reads an answer to its end before it returns, so the output
// of a command is followed to its end. Prints what test_generated_clients.py expects.
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import skiff.ApiClient;
import skiff.ApiException;
import skiff.api.CommandsApi;
import skiff.api.FilesApi;
import skiff.api.FrontDoorApi;
import skiff.api.SessionsApi;
import skiff.model.Command;
import skiff.model.CommandMode;
import skiff.model.CommandRequest;
import skiff.model.Event;
import skiff.model.EventType;
import skiff.model.FileEntry;
import skiff.model.GlobRecord;
import skiff.model.Problem;
import skiff.model.SessionRequest;
import skiff.model.SignalRequest;
import skiff.model.StartedCommand;

public class Use {
  static final ApiClient client = new ApiClient();
  static CommandsApi commands;
  static FilesApi files;

  static StartedCommand start(String session, CommandRequest request) throws ApiException {
    return commands.startCommand(session, request, null);
  }

  static StartedCommand background(String command, String id, boolean stdinOpen) throws ApiException {
    return start("default", new CommandRequest().command(command).id(id).mode(CommandMode.BACKGROUND).stdinOpen(stdinOpen));
  }

  static Command ended(String id) throws ApiException {
    return commands.showCommand("default", id, 30000L);
  }

  /** A file with these bytes, as the generated code takes them. */
  static File file(byte[] data) throws IOException {
    File made = File.createTempFile("skiff-", null);
    made.deleteOnExit();
    Files.write(made.toPath(), data);
    return made;
  }

  static byte[] bytesOf(File file) throws IOException {
    byte[] data = Files.readAllBytes(file.toPath());
    file.delete();
    return data;
  }

  static FileEntry put(String path, byte[] data) throws ApiException, IOException {
    return files.writeFile("default", path, null, null, null, null, null, null, file(data));
  }

  /** What the lines of events have as output. */
  static String text(byte[] lines) throws IOException {
    StringBuilder text = new StringBuilder();
    for (String line : new String(lines).split("\n")) {
      Event event = Event.fromJson(line);
      if (event.getType() == EventType.OUTPUT) text.append(event.getData());
    }
    return text.toString();
  }

  static String squeezed(byte[] text) {
    return new String(text).replace("\n", " ");
  }

  public static void main(String[] arguments) throws Exception {
    client.setBasePath(System.getenv("SKIFF_URL"));
    client.setBearerToken(System.getenv("SKIFF_TOKEN"));
    commands = new CommandsApi(client);
    files = new FilesApi(client);
    SessionsApi sessions = new SessionsApi(client);

    StartedCommand done = start("default", new CommandRequest().command("echo out; echo err >&2; exit 3"));
    System.out.println("wait " + done.getStdout().trim() + " " + done.getStderr().trim() + " " + done.getExitCode());

    System.out.println("background " + background("exec cat", "cat", true).getState());
    commands.writeStdin("default", "cat", true, null, file("hello world".getBytes()));
    System.out.println("stdin " + ended("cat").getExitCode());
    byte[] output = bytesOf(commands.readOutput("default", "cat", 6L, null, null, null, null, null));
    System.out.println("output " + text(output));

    put("go", "on".getBytes());
    background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live", false);
    byte[] all = bytesOf(commands.readOutput("default", "live", null, null, true, null, null, null));
    System.out.println("stream " + squeezed(text(all).getBytes()) + "exit " + ended("live").getExitCode());

    background("exec sleep 600", "asleep", false);
    commands.signalCommand("default", "asleep", new SignalRequest().signal("TERM"));
    System.out.println("signal " + ended("asleep").getSignal());

    sessions.createSession(new SessionRequest().id("other").env(Map.of("A", "value")));
    done = start("other", new CommandRequest().command("echo $A"));
    System.out.println("session " + done.getStdout().trim() + " " + sessions.deleteSessionWithHttpInfo("other", null).getStatusCode());

    byte[] data = new byte[256];
    for (int i = 0; i < data.length; ++i) data[i] = (byte) i;
    FileEntry entry = put("dir/a b.bin", data);
    boolean same = Arrays.equals(bytesOf(files.readFile("default", "dir/a b.bin", null)), data);
    System.out.println("file " + entry.getSize() + " " + (same ? "True" : "False"));
    String found = new String(bytesOf(files.globFiles("default", "dir/*", null, null, null, null)));
    GlobRecord record = GlobRecord.fromJson(found.lines().findFirst().get());
    System.out.println("found " + record.getPath());

    byte[] script = bytesOf(new FrontDoorApi(client).runScript(file("echo one; echo two".getBytes()), null, null, null));
    System.out.println("script " + squeezed(script).trim());
    try {
      sessions.showSession("nope");
    } catch (ApiException refused) {
      Problem problem = Problem.fromJson(refused.getResponseBody());
      System.out.println("error " + problem.getStatus() + " " + problem.getCode());
    }
  }
}
