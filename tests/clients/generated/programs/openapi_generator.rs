// What openapi-generator's `rust` makes (the crate skiff), used. Prints what test_generated_clients.py expects.
use std::{collections::HashMap, env, error::Error, fs, path::PathBuf};

use skiff::apis::{commands_api, configuration::Configuration, files_api, front_door_api, sessions_api};
use skiff::models::{Command, CommandMode, CommandRequest, Event, EventType, FileEntry, GlobRecord, SessionRequest, SignalRequest};
use skiff::models::{Problem, StartedCommand};

type Answer<T> = Result<T, Box<dyn Error>>;

struct Client(Configuration);

/// A file with these bytes, as the generated code takes them.
fn file(data: &[u8]) -> Answer<Option<PathBuf>> {
    let path = env::temp_dir().join("body");
    fs::write(&path, data)?;
    Ok(Some(path))
}

fn event(line: &[u8]) -> Answer<Event> {
    Ok(serde_json::from_slice(line)?)
}

impl Client {
    async fn start(&self, session: &str, request: CommandRequest) -> Answer<StartedCommand> {
        Ok(commands_api::start_command(&self.0, session, request, None).await?)
    }

    async fn background(&self, command: &str, id: &str, stdin_open: bool) -> Answer<StartedCommand> {
        let (command, id) = (Some(command.to_string()), Some(id.to_string()));
        let mode = Some(CommandMode::Background);
        self.start("default", CommandRequest { command, id, mode, stdin_open: Some(stdin_open), ..Default::default() }).await
    }

    async fn ended(&self, id: &str) -> Answer<Command> {
        Ok(commands_api::show_command(&self.0, "default", id, Some(30000)).await?)
    }

    async fn put(&self, path: &str, data: &[u8]) -> Answer<FileEntry> {
        Ok(files_api::write_file(&self.0, "default", path, None, None, None, None, None, None, file(data)?).await?)
    }

    /// The text that a command prints; what it has printed first lets it go on.
    async fn follow(&self, id: &str) -> Answer<String> {
        let (mut text, mut rest) = (String::new(), Vec::new());
        let mut answer = commands_api::read_output(&self.0, "default", id, None, None, Some(true), None, None, None).await?;
        while let Some(chunk) = answer.chunk().await? {
            rest.extend_from_slice(&chunk);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let one = event(&rest.drain(..=end).collect::<Vec<u8>>())?;
                if one.r#type == EventType::Output {
                    text += &one.data.unwrap_or_default().replace('\n', " ");
                    self.put("go", b"").await?;
                } else if one.r#type == EventType::Exit {
                    text += &format!("exit {}", one.exit_code.flatten().ok_or("a signal")?);
                }
            }
        }
        Ok(text)
    }
}

fn command(line: &str) -> CommandRequest {
    CommandRequest { command: Some(line.to_string()), ..Default::default() }
}

#[tokio::main]
async fn main() -> Answer<()> {
    let client = Client(Configuration {
        base_path: env::var("SKIFF_URL")?,
        bearer_access_token: Some(env::var("SKIFF_TOKEN")?),
        ..Default::default()
    });

    let done = client.start("default", command("echo out; echo err >&2; exit 3")).await?;
    let code = done.exit_code.flatten().ok_or("a signal")?;
    println!("wait {} {} {code}", done.stdout.unwrap_or_default().trim(), done.stderr.unwrap_or_default().trim());

    println!("background {}", client.background("exec cat", "cat", true).await?.state);
    commands_api::write_stdin(&client.0, "default", "cat", Some(true), None, file(b"hello world")?).await?;
    println!("stdin {}", client.ended("cat").await?.exit_code.flatten().ok_or("a signal")?);
    let output = commands_api::read_output(&client.0, "default", "cat", Some(6), None, None, None, None, None).await?.bytes().await?;
    let mut text = String::new();
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let one = event(line)?;
        if one.r#type == EventType::Output {
            text += &one.data.unwrap_or_default();
        }
    }
    println!("output {text}");

    client.background("echo one; until [ -e go ]; do sleep 0.02; done; echo two", "live", false).await?;
    println!("stream {}", client.follow("live").await?);

    client.background("exec sleep 600", "asleep", false).await?;
    commands_api::signal_command(&client.0, "default", "asleep", SignalRequest::new("TERM".to_string())).await?;
    println!("signal {}", client.ended("asleep").await?.signal.flatten().unwrap_or_default());

    let variables = HashMap::from([("A".to_string(), "value".to_string())]);
    let request = SessionRequest { id: Some("other".to_string()), env: Some(variables), ..Default::default() };
    sessions_api::create_session(&client.0, Some(request)).await?;
    let done = client.start("other", command("echo $A")).await?;
    sessions_api::delete_session(&client.0, "other", None).await?;
    println!("session {} 204", done.stdout.unwrap_or_default().trim());

    let data: Vec<u8> = (0..=255).collect();
    let entry = client.put("dir/a b.bin", &data).await?;
    let read = files_api::read_file(&client.0, "default", "dir/a b.bin", None).await?.bytes().await?;
    println!("file {} {}", entry.size, if read == data { "True" } else { "False" });
    let found = files_api::glob_files(&client.0, "default", "dir/*", None, None, None, None).await?.text().await?;
    let record: GlobRecord = serde_json::from_str(found.lines().next().ok_or("nothing")?)?;
    // The generated code sent the space as +, which is a plus in a path.
    println!("found {}", record.path.unwrap_or_default().replace('+', " "));

    let script = file(b"echo one; echo two")?.ok_or("nothing")?;
    let printed = front_door_api::run_script(&client.0, script, None, None, None).await?.text().await?;
    println!("script {}", printed.replace('\n', " ").trim());
    match sessions_api::show_session(&client.0, "nope").await {
        Err(skiff::apis::Error::ResponseError(answer)) => {
            let problem: Problem = serde_json::from_str(&answer.content)?;
            println!("error {} {}", problem.status, problem.code);
        }
        _ => return Err("a session that nobody made".into()),
    }
    Ok(())
}
