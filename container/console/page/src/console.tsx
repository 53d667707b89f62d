import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

import { List } from "./list";
import { Line, Notice, Trouble } from "./messages";
import { SandboxPage, type View, viewOf } from "./sandbox_page";
import { useSandboxes } from "./sandboxes";
import { SignIn, useMe, Who } from "./session";

interface Place {
  sandbox?: string;
  view: View;
}

/** `#/sandboxes/NAME/VIEW`; any other address is the list. */
function placeOf(hash: string): Place {
  const [, kind, name, view] = hash.replace(/^#/, "").split("/");
  if (kind !== "sandboxes" || !name) return { view: "terminal" };
  try {
    return { sandbox: decodeURIComponent(name), view: viewOf(view) };
  } catch {
    return { view: "terminal" };
  }
}

function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const moved = () => setPlace(placeOf(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}

function NoSession() {
  return (
    <main>
      <Notice title="This browser has no session" alone>
        <p>The link works once, and the session ends with the console. Start a new one in a terminal, and open the link that it prints:</p>
        <Line text="skiff console" />
      </Notice>
    </main>
  );
}

function Page() {
  const place = usePlace();
  const me = useMe();
  const sandboxes = useSandboxes();
  const { stale, refused } = sandboxes;
  return (
    <>
      <header>
        <a href="#/" class="mark">
          skiff <span>console</span>
        </a>
        {place.sandbox && (
          <a href="#/" class="back">
            All sandboxes
          </a>
        )}
        <Who me={me} />
      </header>
      {stale?.canSignIn && <SignIn hasContent={sandboxes.all !== undefined} />}
      {stale?.status === 401 && !stale.canSignIn ? (
        <NoSession />
      ) : (
        <>
          {stale && !stale.canSignIn && <Trouble text={`${stale.message} This page tries again.`} />}
          {refused && <Trouble text={refused} onClose={sandboxes.forget} />}
          {place.sandbox ? (
            <SandboxPage key={place.sandbox} id={place.sandbox} view={place.view} sandboxes={sandboxes} />
          ) : (
            <List sandboxes={sandboxes} />
          )}
        </>
      )}
    </>
  );
}

const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  render(<Page />, root);
}
