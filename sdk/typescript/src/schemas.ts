// Generated from /openapi.json of skiffd and `skiff serve`: SKIFF_UPDATE_DOCS=1 and tests/clients/sdk_typescript rewrite it.
export interface components {
  schemas: {
    Activity: {
      /** Format: int64 */
      idle_ms: number;
      in_use: boolean;
      /** Format: date-time */
      last_used_at: string;
      lease: components["schemas"]["Lease"];
      /** Format: int64 */
      live_commands: number;
      /** Format: int64 */
      open_connections: number;
      /** Format: int64 */
      open_websockets: number;
    };
    AgentStats: {
      /** Format: int64 */
      cpu_ms: number;
      /** Format: int64 */
      open_files: number;
      /** Format: int64 */
      rss_bytes: number;
    };
    AgentVersion: {
      api: string;
      instance: string;
      labels: {
        [key: string]: string;
      };
      name: string;
      sandbox_id: string;
      version: string;
    };
    /** @enum {string} */
    ArchiveFormat: "tar" | "tar.gz" | "tar.zst";
    ArchiveResult: {
      /** Format: int64 */
      bytes: number;
      /** Format: int64 */
      entries: number;
    };
    BatchOperation: {
      /** @description write: content as text */
      content?: string;
      /** @description write: content in base64 */
      content_base64?: string;
      /** @description edit: edits to make */
      edits?: components["schemas"]["Edit"][];
      /** @description Entity tags, as in the header If-Match */
      if_match?: string;
      /** @description write: octal mode; set-id bits need the scope admin */
      mode?: string;
      /** @description Operation */
      op: components["schemas"]["BatchOperationKind"];
      /** @description Path of the file */
      path: string;
      /** @description move: new path */
      to?: string;
    };
    /** @enum {string} */
    BatchOperationKind: "write" | "edit" | "delete" | "move";
    BatchRequest: {
      /** @description Make all operations or none; false: each by itself */
      atomic?: boolean;
      /** @description Operations, run in this order */
      operations: components["schemas"]["BatchOperation"][];
    };
    BytesPerStream: {
      /** Format: int64 */
      stderr: number;
      /** Format: int64 */
      stdout: number;
    };
    Capabilities: {
      command_limits: string[];
      dialects: string[];
      isolation: string[];
      kernel: components["schemas"]["KernelFeatures"];
      kill: components["schemas"]["KillLevel"];
      limits: Record<string, never>;
      session_shells: components["schemas"]["ShellFeatures"];
      subprotocols: string[];
    };
    Checksums: {
      stderr: string;
      stdout: string;
    };
    CodeAnswer: {
      /** @description completed; or why the context has ended: timeout, ended (by itself), invalid (it has sent nonsense) */
      cause: string;
      /** @description Id of the context */
      context: string;
      /** @description The exception that has ended it; ContextEnded: its process has ended */
      error?: components["schemas"]["CodeError"];
      /**
      * Format: int64
      * @description Calls in this context since it was started
      */
      execution_count: number;
      /** @description The context was started for this call: it had no variables */
      fresh: boolean;
      /** @description Values that it has shown, in order */
      results: components["schemas"]["CodeResult"][];
      /** @description What it printed to standard error */
      stderr: string;
      /** @description What it printed */
      stdout: string;
      /** @description Output or results were left out */
      truncated: boolean;
    };
    CodeContext: {
      /** @description The command that runs its code; absent: none runs now */
      command?: string;
      /** @description Directory in which it starts */
      cwd: string;
      /** @description Id */
      id: string;
      /** @description Its language */
      language: string;
    };
    CodeContextList: {
      /** @description All of them, oldest first */
      items: components["schemas"]["CodeContext"][];
    };
    CodeContextRequest: {
      /** @description Directory in which it starts, relative to the session's */
      cwd?: string;
      /** @description python (the default), javascript or bash */
      language?: string;
    };
    CodeError: {
      /** @description Its class, such as ValueError */
      name: string;
      /** @description Where it came from */
      traceback: string;
      /** @description Its message */
      value: string;
    };
    /** @description A line of NDJSON of code that runs. */
    CodeEvent: {
      /** @description end: as in CodeAnswer */
      cause?: string;
      /** @description started: id of the context */
      context?: string;
      /**
      * Format: int64
      * @description end: calls in this context since it was started
      */
      execution_count?: number;
      /** @description started: the context was started for this call */
      fresh?: boolean;
      /** @description result: further forms of the value; see CodeResult */
      html?: string;
      /** @description result: it is the value of the last expression */
      is_main_result?: boolean;
      /** @description error: its class */
      name?: string;
      /** @description result: in base64 */
      png?: string;
      /** @description stdout, stderr: what was printed; result: the repr of the value */
      text?: string;
      /**
      * Format: date-time
      * @description stdout, stderr: when it was read
      */
      timestamp?: string;
      /** @description error: where it came from */
      traceback?: string;
      type: components["schemas"]["CodeEventType"];
      /** @description error: its message */
      value?: string;
    };
    /** @enum {string} */
    CodeEventType: "started" | "stdout" | "stderr" | "result" | "error" | "end" | "keepalive";
    /** @enum {string} */
    CodeMode: "wait" | "stream";
    CodeRequest: {
      /** @description The code */
      code: string;
      /** @description Id of the context to run it in; by default that of the language */
      context?: string;
      /** @description Variables of the environment while it runs; bash keeps them */
      env?: {
        [key: string]: string;
      };
      /** @description python (the default), javascript or bash; excludes context */
      language?: string;
      /**
      * Format: int32
      * @description Mode wait: longest stdout or stderr in the answer
      */
      max_output_bytes?: number;
      /** @description When to answer: after the end, or with events as they happen */
      mode?: components["schemas"]["CodeMode"];
      /**
      * Format: int64
      * @description End the context with its process tree after this time
      */
      timeout_ms?: number;
    };
    CodeResult: {
      /** @description The numbers of a figure with one plot */
      chart?: unknown;
      /** @description The first 1000 rows of a DataFrame, by column */
      data?: unknown;
      /** @description Other media types */
      extra?: unknown;
      /** @description HTML */
      html?: string;
      /** @description The value of the last expression */
      is_main_result?: boolean;
      /** @description JavaScript */
      javascript?: string;
      /** @description JPEG, in base64 */
      jpeg?: string;
      /** @description JSON */
      json?: unknown;
      /** @description LaTeX */
      latex?: string;
      /** @description Markdown */
      markdown?: string;
      /** @description PDF, in base64 */
      pdf?: string;
      /** @description PNG, in base64 */
      png?: string;
      /** @description SVG */
      svg?: string;
      /** @description Its repr */
      text?: string;
    };
    Command: {
      argv?: string[];
      /** @description Processes that still run and hold a pipe */
      background?: number[];
      /** @description Why the command ended */
      cause?: components["schemas"]["CommandCause"];
      command?: string;
      core_dumped?: boolean;
      /** Format: int64 */
      duration_ms?: number;
      /** Format: date-time */
      ended_at?: string;
      /** @description Why the command could not start, with cause spawn_failed */
      error?: components["schemas"]["SpawnError"];
      /**
      * Format: int64
      * @description Exit code; null if a signal ended the command
      */
      exit_code?: number | null;
      hints?: components["schemas"]["CommandHints"];
      id: string;
      /** @description After a kill: tree or cgroup if no process is left; incomplete if some may be left */
      kill_level?: string;
      limits?: {
        [key: string]: components["schemas"]["EnforcedLimit"];
      };
      output: components["schemas"]["OutputState"];
      /** @description true: every pipe was read to its end; false: more may follow, marked late, or a pipe was given up */
      output_complete?: boolean;
      /** Format: int64 */
      pid?: number;
      session: string;
      /** @description Signal that ended the command, such as SIGTERM; null if it exited */
      signal?: string | null;
      /** Format: date-time */
      started_at: string;
      state: components["schemas"]["CommandState"];
      /** @description In a stateful session: whether its state was saved */
      state_saved?: components["schemas"]["StateSaved"];
      stdin: components["schemas"]["StdinState"];
      tty: boolean;
      usage?: components["schemas"]["Usage"];
    };
    /** @enum {string} */
    CommandCause: "exited" | "signaled" | "timeout" | "idle_timeout" | "output_limit" | "oom" | "oom_guard" | "killed_by_client" | "session_deleted" | "shutdown" | "spawn_failed";
    CommandHints: {
      waiting_for_input?: boolean;
    };
    CommandList: {
      items: components["schemas"]["Command"][];
      next_cursor?: string;
    };
    /** @enum {string} */
    CommandMode: "wait" | "stream" | "background";
    CommandRequest: {
      /** @description Program and arguments, run without a shell; excludes command */
      argv?: string[];
      /** @description Line for the session's shell; excludes argv */
      command?: string;
      /** @description Working directory, relative to the session's */
      cwd?: string;
      /** @description Variables to set; null removes one */
      env?: {
        [key: string]: string | null;
      };
      /** @description Id chosen by the client; it starts at most one command */
      id?: string;
      /**
      * Format: int64
      * @description End the process tree after this time without output
      */
      idle_timeout_ms?: number;
      /** @description Start only if the agent is still this instance */
      if_instance?: string;
      /**
      * Format: int32
      * @description Time from SIGTERM to SIGKILL
      */
      kill_grace_ms?: number;
      /** @description Limits of the command */
      limits?: components["schemas"]["ResourceLimits"];
      /** @description When to answer: after the end, with events as they happen, or immediately */
      mode?: components["schemas"]["CommandMode"];
      /** @description What happens to the command when the client disconnects */
      on_disconnect?: components["schemas"]["OnDisconnect"];
      /** @description Options for its output */
      output?: components["schemas"]["OutputOptions"];
      /** @description Variables that are never listed, logged or echoed */
      secret_env?: {
        [key: string]: string;
      };
      /** @description Text to write to stdin at the start */
      stdin?: string;
      /** @description Bytes to write to stdin at the start, in base64 */
      stdin_base64?: string;
      /** @description Keep stdin open for later writes */
      stdin_open?: boolean;
      /**
      * Format: int64
      * @description End the process tree after this time
      */
      timeout_ms?: number;
      /** @description Run on a pseudo-terminal of this size */
      tty?: components["schemas"]["TerminalSize"];
      /** @description Name or uid, with :group or :gid */
      user?: string;
      /**
      * Format: int64
      * @description Mode wait: answer after this time even if the command still runs
      */
      wait_ms?: number;
    };
    CommandResult: {
      /** @description Processes that still run and hold a pipe */
      background?: number[];
      /** @description Why the command ended */
      cause?: components["schemas"]["CommandCause"];
      core_dumped?: boolean;
      /** Format: int64 */
      duration_ms?: number;
      /** Format: date-time */
      ended_at?: string;
      /** @description Why the command could not start, with cause spawn_failed */
      error?: components["schemas"]["SpawnError"];
      /**
      * Format: int64
      * @description Exit code; null if a signal ended the command
      */
      exit_code?: number | null;
      id: string;
      /** @description After a kill: tree or cgroup if no process is left; incomplete if some may be left */
      kill_level?: string;
      limits?: {
        [key: string]: components["schemas"]["EnforcedLimit"];
      };
      /** Format: int64 */
      next: number;
      omitted_bytes: components["schemas"]["BytesPerStream"];
      /** @description true: every pipe was read to its end; false: more may follow, marked late, or a pipe was given up */
      output_complete?: boolean;
      /** @description Signal that ended the command, such as SIGTERM; null if it exited */
      signal?: string | null;
      /** Format: date-time */
      started_at: string;
      state: components["schemas"]["CommandState"];
      /** @description In a stateful session: whether its state was saved */
      state_saved?: components["schemas"]["StateSaved"];
      stderr: string;
      stderr_base64?: string;
      stdout: string;
      stdout_base64?: string;
      truncated: boolean;
      usage?: components["schemas"]["Usage"];
    };
    /** @enum {string} */
    CommandState: "starting" | "running" | "ended";
    CommandStats: {
      /** Format: int64 */
      limit: number;
      /** Format: int64 */
      live: number;
    };
    CpuStats: {
      /** Format: int64 */
      cores: number;
      /** Format: int64 */
      limit_millis: number | null;
      /** Format: int64 */
      throttled_ms: number | null;
      /** Format: int64 */
      used_ms: number | null;
    };
    CreateSandbox: {
      /** @description Names that the sandbox may reach, and nothing else: pypi.org, *.example.com, example.com:8443, http://deb.debian.org, @npm for the hosts of a tool; an empty list: nothing */
      egress?: string[];
      /** @description Variables of all its commands */
      env?: {
        [key: string]: string;
      };
      /** @description Use an existing sandbox of this name, and start it unless it runs */
      get_or_create?: boolean;
      /**
      * Format: int64
      * @description The sandbox ends after this time without use
      */
      idle_ttl_ms?: number;
      /** @description Labels of the sandbox */
      labels?: {
        [key: string]: string;
      };
      /** @description Id of the sandbox: lower-case letters, digits and, between them, -; by default the server chooses one */
      name?: string;
      /**
      * @description deny: no network; otherwise the template decides
      * @enum {string}
      */
      network?: "deny";
      /**
      * @description At the end of the lease: remove the sandbox, or stop it and keep its files
      * @enum {string}
      */
      on_end?: "remove" | "stop";
      /** @description Owner of the sandbox, within the tenant */
      owner?: string;
      /** @description Name of the template */
      template?: string;
      /**
      * Format: int64
      * @description Lease of the sandbox; by default none
      */
      ttl_ms?: number;
      /** @description Wait until the sandbox is up; false: answer when it is visible, and continue the creation */
      wait?: boolean;
      /** @description Whether a request starts the stopped sandbox again */
      wakes?: boolean;
    };
    DiskStats: {
      /** Format: int64 */
      available_bytes: number | null;
      /** Format: int64 */
      available_inodes: number | null;
      path: string;
      /** Format: int64 */
      total_bytes: number | null;
      /** Format: int64 */
      total_inodes: number | null;
    };
    Edit: {
      /**
      * Format: int64
      * @description Number of times that the old text must occur, default 1; 0: at least once
      */
      count?: number;
      /** @description Replacement */
      new: string;
      /** @description Text to replace */
      old: string;
    };
    EditedFile: {
      /** @description Unified diff of an edit */
      diff?: string;
      /** @description true: the diff is too long, and this is its beginning */
      diff_cut?: boolean;
      etag?: string;
      /** Format: int64 */
      gid: number;
      mode: string;
      /** Format: date-time */
      modified_at: string;
      name: string;
      name_base64?: string;
      path: string;
      /** @description Path in base64, if it is not UTF-8 */
      path_base64?: string;
      /** Format: int64 */
      size: number;
      /** @description Target of a symbolic link */
      target?: string;
      target_base64?: string;
      type: components["schemas"]["FileType"];
      /** Format: int64 */
      uid: number;
    };
    EditsRequest: {
      /** @description Edits to make in this order; all or none */
      edits: components["schemas"]["Edit"][];
    };
    EnforcedLimit: {
      by: string;
      /** Format: int64 */
      value: number;
    };
    /** @description A line of NDJSON, or the data of a server-sent event. */
    Event: {
      /** @description Processes that still run and hold a pipe */
      background?: number[];
      /** @description Bytes that the command wrote, by stream */
      bytes?: components["schemas"]["BytesPerStream"];
      /** @description Why the command ended */
      cause?: components["schemas"]["CommandCause"];
      /** @description Error code, as in a problem document */
      code?: string;
      core_dumped?: boolean;
      /** @description Text, never cut inside a character */
      data?: string;
      /** @description Bytes that are not UTF-8 */
      data_base64?: string;
      /** @description What failed: the operation and its object */
      detail?: string;
      /** Format: int64 */
      duration_ms?: number;
      /** Format: date-time */
      ended_at?: string;
      /** @description Why the command could not start, with cause spawn_failed */
      error?: components["schemas"]["SpawnError"];
      /**
      * Format: int64
      * @description Exit code; null if a signal ended the command
      */
      exit_code?: number | null;
      /** @description JSON pointer to the invalid input */
      field?: string;
      /**
      * Format: int64
      * @description First missing offset
      */
      from?: number;
      /** @description Id of the command */
      id?: string;
      /** @description Instance of the agent; new at each start */
      instance?: string;
      /** @description After a kill: tree or cgroup if no process is left; incomplete if some may be left */
      kill_level?: string;
      /** @description true: written after the exit, by a background process */
      late?: boolean;
      /**
      * Format: int64
      * @description Offset after the last byte: continue with from=
      */
      next?: number;
      /**
      * Format: int64
      * @description Offset of the first byte; both streams are counted together, from 0
      */
      offset?: number;
      /** @description true: every pipe was read to its end; false: more may follow, marked late, or a pipe was given up */
      output_complete?: boolean;
      /**
      * Format: int64
      * @description Pid of the main process; absent if it could not start
      */
      pid?: number;
      session?: string;
      /** @description With output.checksum: SHA-256 of each stream, in lower-case hex */
      sha256?: components["schemas"]["Checksums"];
      /** @description Signal that ended the command, such as SIGTERM; null if it exited */
      signal?: string | null;
      /** Format: date-time */
      started_at?: string;
      /** @description In a stateful session: whether its state was saved */
      state_saved?: components["schemas"]["StateSaved"];
      stream?: components["schemas"]["OutputStream"];
      /**
      * Format: date-time
      * @description Time when the agent read it
      */
      time?: string;
      /**
      * Format: int64
      * @description Offset after the last missing one
      */
      to?: number;
      type: components["schemas"]["EventType"];
      usage?: components["schemas"]["Usage"];
    };
    /** @enum {string} */
    EventType: "started" | "output" | "gap" | "exit" | "end" | "error" | "keepalive";
    ExtendSandbox: {
      /**
      * Format: int64
      * @description The sandbox ends after this time without use
      */
      idle_ttl_ms?: number;
      /**
      * Format: int64
      * @description New lease of the sandbox, from now on
      */
      ttl_ms?: number;
    };
    ExtraRoot: {
      /** @description Whether files below it may be changed */
      access?: components["schemas"]["RootAccess"];
      /** @description Absolute path of an existing directory */
      path: string;
    };
    FileEntry: {
      etag?: string;
      /** Format: int64 */
      gid: number;
      mode: string;
      /** Format: date-time */
      modified_at: string;
      name: string;
      name_base64?: string;
      path: string;
      /** @description Path in base64, if it is not UTF-8 */
      path_base64?: string;
      /** Format: int64 */
      size: number;
      /** @description Target of a symbolic link */
      target?: string;
      target_base64?: string;
      type: components["schemas"]["FileType"];
      /** Format: int64 */
      uid: number;
    };
    FileError: {
      code: string;
      detail: string;
    };
    FileList: {
      items: components["schemas"]["FileEntry"][];
      /** @description Cursor of the next page; absent on the last one */
      next_cursor?: string;
      /** @description true: some entries are deeper than 256 levels */
      too_deep?: boolean;
      /**
      * Format: int64
      * @description Directories of this page that could not be read
      */
      unreadable?: number;
    };
    FileResult: {
      /** @description true: the file was deleted */
      deleted?: boolean;
      /** @description Unified diff of an edit */
      diff?: string;
      /** @description true: the diff is too long, and this is its beginning */
      diff_cut?: boolean;
      error?: components["schemas"]["FileError"];
      etag?: string;
      /** Format: int64 */
      gid?: number;
      mode?: string;
      /** Format: date-time */
      modified_at?: string;
      name?: string;
      name_base64?: string;
      path: string;
      /** @description Path in base64, if it is not UTF-8 */
      path_base64?: string;
      /** Format: int64 */
      size?: number;
      /** @description Target of a symbolic link */
      target?: string;
      target_base64?: string;
      type?: components["schemas"]["FileType"];
      /** Format: int64 */
      uid?: number;
    };
    FileResults: {
      items: components["schemas"]["FileResult"][];
    };
    /** @enum {string} */
    FileType: "file" | "directory" | "symlink" | "fifo" | "socket" | "character_device" | "block_device";
    /** @description A line of files:glob. */
    GlobRecord: {
      /** Format: int64 */
      matches?: number;
      /** @description Path below the session's root, in the form of the requested path */
      path?: string;
      /** @description Replaces path if that is not UTF-8 */
      path_base64?: string;
      /** @description true: there may be more matches: the limit was reached, or the search was stopped */
      truncated?: boolean;
      type: components["schemas"]["GlobRecordType"];
      /**
      * Format: int64
      * @description Directories that could not be read
      */
      unreadable?: number;
    };
    /** @enum {string} */
    GlobRecordType: "file" | "directory" | "symlink" | "other" | "summary";
    /** @description A line of files:grep. */
    GrepRecord: {
      /** @description Lines after the match, as many as requested */
      after?: string[];
      /** @description Lines before the match, as many as requested */
      before?: string[];
      /**
      * Format: int64
      * @description Files that were skipped because of a zero byte: binary ones, and texts in UTF-16
      */
      binary?: number;
      /**
      * Format: int64
      * @description Position of the match's first byte in the line, from 1
      */
      column?: number;
      /** @description true: the line is too long, and text is the part around the match */
      cut?: boolean;
      /**
      * Format: int64
      * @description Files with a match
      */
      files?: number;
      /**
      * Format: int64
      * @description Number of the line, from 1
      */
      line_number?: number;
      /** Format: int64 */
      matches?: number;
      /** @description Path below the session's root, in the form of the requested path */
      path?: string;
      /** @description Replaces path if that is not UTF-8 */
      path_base64?: string;
      /**
      * Format: int64
      * @description Files that were searched, to their end or until the search stopped
      */
      searched?: number;
      /** @description Line without its end */
      text?: string;
      /** @description Replaces text if that is not UTF-8 */
      text_base64?: string;
      /**
      * Format: int64
      * @description With cut: column where text begins
      */
      text_column?: number;
      /**
      * Format: int64
      * @description Files that were skipped because of their size
      */
      too_large?: number;
      /** @description true: there may be more matches: the limit was reached, or the search was stopped */
      truncated?: boolean;
      type?: components["schemas"]["GrepRecordType"];
      /**
      * Format: int64
      * @description Files and directories that could not be read
      */
      unreadable?: number;
    };
    /** @enum {string} */
    GrepRecordType: "summary";
    InitAnswer: {
      lease: components["schemas"]["Lease"];
      setup: components["schemas"]["CommandResult"] | null;
    };
    InitRequest: {
      /** @description Token of the sandbox for its egress proxy */
      egress_token?: string;
      /** @description Variables of all commands from now on; null removes one */
      env?: {
        [key: string]: string | null;
      };
      /**
      * Format: int64
      * @description The agent drains and exits after this time without use
      */
      idle_ttl_ms?: number;
      /** @description Labels, shown by /v1/version */
      labels?: {
        [key: string]: string;
      };
      /** @description Further Ed25519 keys (PEM) whose JWTs are accepted */
      public_keys?: string[];
      /** @description Variables that are never listed, logged or echoed */
      secret_env?: {
        [key: string]: string;
      };
      /** @description Command to run; its result is in the answer */
      setup?: components["schemas"]["SetupRequest"];
      /** @description SHA-256, in hex, of further tokens that are accepted */
      token_sha256?: string[];
      /**
      * Format: int64
      * @description The agent drains and exits after this time
      */
      ttl_ms?: number;
    };
    Introduction: {
      name: string;
      needs_token: boolean;
      openapi: string;
      send?: string;
      summary: string;
      version: string;
    };
    /** @enum {string} */
    Isolation: "none" | "protect" | "landlock";
    KernelFeatures: {
      clone3: boolean;
      close_range: boolean;
      /** Format: int64 */
      landlock_abi: number;
      openat2: boolean;
      pidfd: boolean;
    };
    KillLevel: {
      daemons: boolean;
      level: string;
    };
    /** @enum {string} */
    LastEvent: "exit" | "end";
    Lease: {
      /** Format: date-time */
      expires_at: string | null;
      /** Format: int64 */
      idle_ttl_ms: number | null;
      /** Format: int64 */
      ttl_ms: number | null;
    };
    LeaseAnswer: {
      lease: components["schemas"]["Lease"];
    };
    LeaseRequest: {
      /**
      * Format: int64
      * @description The agent drains and exits after this time without use; null: never; absent: unchanged
      */
      idle_ttl_ms?: number | null;
      /**
      * Format: int64
      * @description The agent drains and exits after this time, from now; null: no lease; absent: the last duration again
      */
      ttl_ms?: number | null;
    };
    MakeDirectoryRequest: {
      /** @description Create missing parents, and accept a directory that exists */
      parents?: boolean;
      /** @description Path of the new directory */
      path: string;
    };
    MakeLinkRequest: {
      /** @description Path of the new symbolic link */
      path: string;
      /** @description Target of the link; checked when it is followed */
      target: string;
    };
    MakePreview: {
      /**
      * Format: int32
      * @description Port of a server in the sandbox
      */
      port: number;
      /**
      * Format: int32
      * @description How long the link and what it opens are valid
      */
      ttl_ms?: number;
    };
    MemoryStats: {
      /** Format: int64 */
      limit_bytes: number | null;
      /** Format: int64 */
      oom_kills: number | null;
      /** Format: int64 */
      peak_bytes: number | null;
      /** Format: int64 */
      used_bytes: number | null;
    };
    MoveRequest: {
      /** @description Path to move or copy */
      from: string;
      /** @description Replace an existing file */
      overwrite?: boolean;
      /** @description New path */
      to: string;
    };
    /** @enum {string} */
    OnDisconnect: "continue" | "kill";
    OutputCondition: {
      /** @description Id of the command */
      command: string;
      /** @description RE2 pattern to search for in the output */
      pattern: string;
    };
    OutputOptions: {
      /** @description The end event has the SHA-256 of each stream */
      checksum?: boolean;
      /**
      * Format: int64
      * @description Output kept in memory for readers
      */
      keep_bytes?: number;
      /**
      * Format: int32
      * @description Longest stdout or stderr in the result of mode wait
      */
      max_output_bytes?: number;
      /** @description stderr goes to the same pipe as stdout */
      merge_stderr?: boolean;
      /** @description Policy when more than keep_bytes are unread */
      overflow?: components["schemas"]["OverflowPolicy"];
    };
    /** @enum {string} */
    OutputSelection: "stdout" | "stderr" | "both";
    OutputState: {
      bytes: components["schemas"]["BytesPerStream"];
      ended: boolean;
      /** Format: int64 */
      first_kept: number;
      /** Format: int64 */
      next_offset: number;
    };
    OutputStats: {
      /** Format: int64 */
      memory_bytes: number;
      /** Format: int64 */
      spool_bytes: number;
    };
    /** @enum {string} */
    OutputStream: "stdout" | "stderr";
    /** @enum {string} */
    OverflowPolicy: "auto" | "drop" | "block" | "kill";
    PidStats: {
      /** Format: int64 */
      limit: number | null;
      /** Format: int64 */
      used: number | null;
    };
    Port: {
      address: string;
      command?: string;
      /** Format: int64 */
      pid: number | null;
      /** Format: int64 */
      port: number;
      process?: string;
      session?: string;
      /** Format: int64 */
      uid: number;
    };
    Ports: {
      items: components["schemas"]["Port"][];
      next_cursor?: string;
    };
    Preview: {
      /** @description When the link ends (RFC 3339) */
      expires_at: string;
      /** @description Link for a browser; everyone who has it can use the port */
      url: string;
    };
    Problem: {
      /** @description Stable; codes are only ever added */
      code: string;
      /** @description The operation and its object */
      detail: string;
      /** @description A JSON pointer to the input, or a parameter's name */
      field?: string;
      /** @description The request's id */
      instance?: string;
      /** Format: int64 */
      status: number;
      /** @description The same sentence for every problem of this code */
      title: string;
      /** @description A URN of the code */
      type: string;
    };
    Process: {
      command: string;
      command_line: string;
      /** Format: int64 */
      group: number;
      name: string;
      /** Format: int64 */
      parent: number;
      /** Format: int64 */
      pid: number;
      /** Format: int64 */
      rss_bytes: number;
      state: string;
    };
    ProcessList: {
      items: components["schemas"]["Process"][];
      next_cursor?: string;
    };
    ResourceLimits: {
      /**
      * Format: int64
      * @description Thousandths of a core; needs a writable cgroup v2
      */
      cpu_millis?: number;
      /**
      * Format: int64
      * @description CPU time of each process, rounded up to seconds (RLIMIT_CPU)
      */
      cpu_time_ms?: number;
      /**
      * Format: int64
      * @description Size of a file that a process writes (RLIMIT_FSIZE)
      */
      file_size_bytes?: number;
      /**
      * Format: int64
      * @description Memory of the whole tree; needs a writable cgroup v2
      */
      memory_bytes?: number;
      /**
      * Format: int32
      * @description Open descriptors of each process (RLIMIT_NOFILE)
      */
      open_files?: number;
      /**
      * Format: int64
      * @description Processes and threads of the whole tree; needs a writable cgroup v2
      */
      pids?: number;
    };
    /** @enum {string} */
    RootAccess: "rw" | "ro";
    Sandbox: {
      /** @description Time of its creation (RFC 3339) */
      created_at: string;
      /** @description End of its lease (RFC 3339), if it has one */
      expires_at?: string;
      /** @description Id of the sandbox: its name, or a unique id */
      id: string;
      /** @description Labels of the sandbox */
      labels: {
        [key: string]: string;
      };
      /**
      * @description At the end of the lease: remove the sandbox, or stop it and keep its files
      * @enum {string}
      */
      on_end: "remove" | "stop";
      /** @description Owner that was given at creation */
      owner?: string;
      /** @description Why the sandbox ended or failed, or what it lost when it began anew; otherwise empty */
      reason: string;
      /**
      * @description State of the sandbox
      * @enum {string}
      */
      state: "creating" | "running" | "stopped" | "ended" | "failed";
      /** @description Name of its template */
      template: string;
      /** @description Unique id, which is never used again */
      uid?: string;
      /** @description The sandbox did not end by itself: `start` may start it again */
      was_broken?: boolean;
    };
    SandboxList: {
      /** @description Sandboxes, sorted by id */
      items: components["schemas"]["Sandbox"][];
      /** @description `cursor` of the next page; empty: this is the last page */
      next: string;
    };
    Session: {
      commands: components["schemas"]["SessionCommands"];
      /** Format: date-time */
      created_at: string;
      cwd: string;
      /** Format: int64 */
      default_timeout_ms?: number;
      env: {
        [key: string]: string | null;
      };
      env_inherit: boolean;
      extra_roots: components["schemas"]["SessionRoot"][];
      id: string;
      /** Format: int64 */
      idle_timeout_ms?: number;
      isolation: string;
      labels: {
        [key: string]: string;
      };
      limits: {
        [key: string]: number;
      };
      root: string;
      secret_env: string[];
      shell: components["schemas"]["SessionShell"];
      user?: string;
    };
    SessionCommands: {
      /** Format: int64 */
      kept: number;
      /** Format: int64 */
      live: number;
    };
    SessionList: {
      items: components["schemas"]["Session"][];
      next_cursor?: string;
    };
    SessionPatch: {
      /** @description Working directory of later commands */
      cwd?: string;
      /**
      * Format: int64
      * @description timeout_ms of commands without one; null: none
      */
      default_timeout_ms?: number | null;
      /** @description Variables of later commands; null removes one */
      env?: {
        [key: string]: string | null;
      };
      /**
      * Format: int64
      * @description Delete the session after this time without use; null: never
      */
      idle_timeout_ms?: number | null;
      /** @description Labels to set; null removes one */
      labels?: {
        [key: string]: string | null;
      };
      /** @description Replaces the limits of later commands */
      limits?: components["schemas"]["ResourceLimits"];
    };
    SessionRequest: {
      /** @description Working directory of its commands, relative to the root */
      cwd?: string;
      /**
      * Format: int64
      * @description timeout_ms of commands without one
      */
      default_timeout_ms?: number;
      /** @description Variables of its commands; null removes one */
      env?: {
        [key: string]: string | null;
      };
      /** @description Start from the agent's environment */
      env_inherit?: boolean;
      /** @description Variables of the agent to leave out */
      env_unset?: string[];
      /** @description Further directories for file operations */
      extra_roots?: components["schemas"]["ExtraRoot"][];
      /** @description Id chosen by the client */
      id?: string;
      /**
      * Format: int64
      * @description Delete the session after this time without use
      */
      idle_timeout_ms?: number;
      /** @description Isolation of its commands */
      isolation?: components["schemas"]["Isolation"];
      /** @description Names and values for lists and filters */
      labels?: {
        [key: string]: string;
      };
      /** @description Limits of commands without any */
      limits?: components["schemas"]["ResourceLimits"];
      /** @description Directory of the session, below the agent's root; created if it is missing */
      root?: string;
      /** @description Variables that are never listed, logged or echoed */
      secret_env?: {
        [key: string]: string;
      };
      /** @description The shell that runs command lines */
      shell?: components["schemas"]["ShellOptions"];
      /** @description Name or uid, with :group or :gid */
      user?: string;
    };
    SessionRoot: {
      access: string;
      path: string;
    };
    SessionShell: {
      functions?: boolean;
      login: boolean;
      path: string;
      stateful: boolean;
    };
    SetModeRequest: {
      /** @description Octal mode, for example "0755"; set-id bits need the scope admin */
      mode: string;
      /** @description Path of a file or directory; a link is followed */
      path: string;
    };
    SetupRequest: {
      /** @description Line for the default session's shell */
      command: string;
      /**
      * Format: int64
      * @description End the command after this time
      */
      timeout_ms?: number;
    };
    ShellFeatures: {
      stateful: boolean;
    };
    ShellOptions: {
      /** @description In a stateful session: also keep functions, if the shell is bash */
      functions?: boolean;
      /** @description Run it as a login shell */
      login?: boolean;
      /** @description Absolute path of the shell */
      path?: string;
      /** @description Keep cwd, variables and functions from command to command */
      stateful?: boolean;
    };
    SignalRequest: {
      /**
      * Format: int64
      * @description Time after which a stronger signal is sent if the command still lives
      */
      escalate_after_ms?: number;
      /** @description Stronger signal; default KILL */
      escalate_to?: string;
      /** @description Name with or without SIG, or number */
      signal: string;
      /** @description Receiver; by default the tree for KILL and TERM, the group for INT and QUIT, else the leader */
      target?: components["schemas"]["SignalTarget"];
    };
    /** @enum {string} */
    SignalTarget: "leader" | "group" | "tree";
    SpawnError: {
      /** @description Name of the error, such as ENOENT */
      errno: string;
      message: string;
      /** @description Step that failed */
      stage: string;
    };
    /** @description A CommandResult with the mode wait, a Command with the mode background. */
    StartedCommand: {
      argv?: string[];
      /** @description Processes that still run and hold a pipe */
      background?: number[];
      /** @description Why the command ended */
      cause?: components["schemas"]["CommandCause"];
      command?: string;
      core_dumped?: boolean;
      /** Format: int64 */
      duration_ms?: number;
      /** Format: date-time */
      ended_at?: string;
      /** @description Why the command could not start, with cause spawn_failed */
      error?: components["schemas"]["SpawnError"];
      /**
      * Format: int64
      * @description Exit code; null if a signal ended the command
      */
      exit_code?: number | null;
      hints?: components["schemas"]["CommandHints"];
      id: string;
      /** @description After a kill: tree or cgroup if no process is left; incomplete if some may be left */
      kill_level?: string;
      limits?: {
        [key: string]: components["schemas"]["EnforcedLimit"];
      };
      /** Format: int64 */
      next?: number;
      omitted_bytes?: components["schemas"]["BytesPerStream"];
      output?: components["schemas"]["OutputState"];
      /** @description true: every pipe was read to its end; false: more may follow, marked late, or a pipe was given up */
      output_complete?: boolean;
      /** Format: int64 */
      pid?: number;
      session?: string;
      /** @description Signal that ended the command, such as SIGTERM; null if it exited */
      signal?: string | null;
      /** Format: date-time */
      started_at: string;
      state: components["schemas"]["CommandState"];
      /** @description In a stateful session: whether its state was saved */
      state_saved?: components["schemas"]["StateSaved"];
      stderr?: string;
      stderr_base64?: string;
      stdin?: components["schemas"]["StdinState"];
      stdout?: string;
      stdout_base64?: string;
      truncated?: boolean;
      tty?: boolean;
      usage?: components["schemas"]["Usage"];
    };
    /** @enum {string} */
    StateSaved: "saved" | "discarded" | "conflict";
    Stats: {
      agent: components["schemas"]["AgentStats"];
      /** Format: int64 */
      cgroup_version: number | null;
      commands: components["schemas"]["CommandStats"];
      cpu: components["schemas"]["CpuStats"];
      disk: components["schemas"]["DiskStats"][];
      memory: components["schemas"]["MemoryStats"];
      output: components["schemas"]["OutputStats"];
      pids: components["schemas"]["PidStats"];
      /** Format: int64 */
      uptime_ms: number;
    };
    Status: {
      egress?: string;
      status: string;
    };
    StdinState: {
      /** Format: int64 */
      offset: number;
      open: boolean;
    };
    StopSandbox: {
      /**
      * Format: int32
      * @description How long processes may take to end by themselves
      */
      grace_ms?: number;
    };
    TerminalSize: {
      /**
      * Format: int32
      * @description Columns; default: 80, or the terminal's
      */
      cols?: number;
      /**
      * Format: int32
      * @description Rows; default: 24, or the terminal's
      */
      rows?: number;
    };
    Usage: {
      /** Format: int64 */
      involuntary_switches: number;
      /**
      * Format: int64
      * @description Peak resident size of the largest process
      */
      max_rss_bytes: number;
      /**
      * Format: int64
      * @description With a cgroup: peak memory of all processes together
      */
      peak_bytes?: number;
      /**
      * Format: int64
      * @description Bytes read from disks
      */
      read_bytes: number;
      /** Format: int64 */
      system_us: number;
      /** Format: int64 */
      user_us: number;
      /** Format: int64 */
      voluntary_switches: number;
      /** Format: int64 */
      wall_us: number;
      /** Format: int64 */
      write_bytes: number;
    };
    WaitAnswer: {
      match?: string;
      met: boolean;
      /** Format: int64 */
      next?: number;
      reason?: components["schemas"]["WaitReason"];
    };
    WaitCondition: {
      /** @description Wait until this command has ended */
      command?: string;
      /** @description Wait until a command has printed this */
      output?: components["schemas"]["OutputCondition"];
      /** @description Wait until this path exists, relative to the session's cwd */
      path?: string;
      /**
      * Format: int32
      * @description Wait until a process listens on this TCP port
      */
      port?: number;
    };
    /** @enum {string} */
    WaitReason: "ended" | "timeout" | "shutdown";
    WaitRequest: {
      /** @description Condition to wait for: exactly one member */
      for: components["schemas"]["WaitCondition"];
      /**
      * Format: int64
      * @description Answer with met: false after this time; default 30 s
      */
      timeout_ms?: number;
    };
    /** @description The data of an event of files:watch. */
    WatchEvent: {
      /** Format: int64 */
      cursor: number;
      /** @description renamed: path before */
      from?: string;
      is_directory?: boolean;
      /** @description Path below the session's root, in the form of the requested path */
      path?: string;
      type: components["schemas"]["WatchEventType"];
    };
    /** @enum {string} */
    WatchEventType: "watching" | "created" | "modified" | "deleted" | "renamed" | "overflow";
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
