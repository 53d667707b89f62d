import { useState } from "preact/hooks";

import { listPorts, type Port, previewOf, type Refusal } from "./api";
import { Trouble } from "./messages";
import { usePolled } from "./polled";

const BETWEEN_LOOKS = 1_500;
const HIGHEST = 65_535;

/** What listens on one port, on any of its addresses. */
interface Server {
  port: number;
  addresses: string[];
  process: string | undefined;
}

function serversOf(ports: Port[]): Server[] {
  const all = new Map<number, Server>();
  for (const { port, address, process } of ports) {
    const one = all.get(port);
    if (!one) all.set(port, { port, addresses: [address], process });
    else if (!one.addresses.includes(address)) one.addresses.push(address);
  }
  return [...all.values()];
}

/** Opens the preview in a new tab, and shows its link for a browser that opens none by itself. */
function Preview({ sandbox, port }: { sandbox: string; port: number }) {
  const [link, setLink] = useState<string>();
  const [isOpening, setIsOpening] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const open = async () => {
    setIsOpening(true);
    setTrouble(undefined);
    try {
      const address = await previewOf(sandbox, port);
      setLink(address);
      window.open(address, "_blank", "noopener,noreferrer");
    } catch (error) {
      setTrouble((error as Refusal).message);
    }
    setIsOpening(false);
  };
  return (
    <>
      {link && (
        <a href={link} target="_blank" rel="noopener noreferrer">
          {new URL(link).host}
        </a>
      )}
      {trouble && <Trouble text={trouble} onClose={() => setTrouble(undefined)} />}
      <button class="main" aria-label={`Open port ${port}`} disabled={isOpening} onClick={() => void open()}>
        {isOpening ? "Opening…" : "Open"}
      </button>
    </>
  );
}

/** What listens in a sandbox. */
export function Ports({ sandbox }: { sandbox: string }) {
  const { value: ports, trouble } = usePolled(sandbox, BETWEEN_LOOKS, listPorts);
  const [awaited, setAwaited] = useState<number[]>([]);
  const [typed, setTyped] = useState("");
  const servers = serversOf(ports ?? []);
  const listens = (port: number) => servers.some((one) => one.port === port);
  const came = awaited.filter(listens);

  const wait = (event: Event) => {
    event.preventDefault();
    const port = Number(typed);
    setAwaited((before) => [...before.filter((one) => one !== port), port]);
    setTyped("");
  };
  const forget = (port: number) => setAwaited((before) => before.filter((one) => one !== port));
  return (
    <section class="ports">
      {trouble && <Trouble text={trouble} />}
      <form class="bar" onSubmit={wait}>
        <label for="port">Wait for port</label>
        <input id="port" class="field" type="number" min={1} max={HIGHEST} required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button>Wait</button>
      </form>
      <p class="came" role="status">
        {came.length > 0 && `Port ${came.join(", ")} listens now.`}
      </p>
      {!ports && !trouble && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {ports && servers.length + awaited.length === 0 && <p class="faint">Nothing listens here yet. A server that is started appears by itself.</p>}
      {servers.length + awaited.length > 0 && (
        <ul aria-label="Ports">
          {awaited
            .filter((port) => !listens(port))
            .map((port) => (
              <li key={port}>
                <strong>{port}</strong>
                <span class="state busy">nothing listens yet</span>
                <span class="deed">
                  <button aria-label={`Do not wait for port ${port}`} onClick={() => forget(port)}>
                    Do not wait
                  </button>
                </span>
              </li>
            ))}
          {servers.map(({ port, addresses, process }) => (
            <li key={port} class={awaited.includes(port) ? "awaited" : ""}>
              <strong>{port}</strong>
              <span>
                {process && <code>{process}</code>} <span class="faint">{addresses.join(", ")}</span>
              </span>
              <span class="deed">
                <Preview sandbox={sandbox} port={port} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
