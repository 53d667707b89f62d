import { useEffect, useState } from "preact/hooks";

import { type Me, readMe, type Refusal, sessionNews, SIGN_IN, signOut } from "./api";

/** Says that the session is over. The rest of the page stays as it is, with what is not saved, and goes on after another sign-in. */
export function SignIn({ hasContent }: { hasContent: boolean }) {
  return (
    <div class="trouble" role="alert">
      <p>
        {hasContent
          ? "Your session has ended. Sign in again in the new tab, and come back to this one: what is open here stays, and goes on."
          : "This browser has no session."}
      </p>
      <a href={SIGN_IN} {...(hasContent ? { target: "_blank", rel: "noopener" } : {})}>
        Sign in
      </a>
    </div>
  );
}

/** The API key that has signed in. */
export function useMe(): Me | undefined {
  const [me, setMe] = useState<Me>();
  useEffect(() => {
    readMe().then(
      (found) => {
        setMe(found);
        sessionNews.postMessage("in");
      },
      () => undefined,
    );
  }, []);
  return me;
}

/** The API key, and the way out; nothing for `skiff console`, whose session ends with it. */
export function Who({ me }: { me: Me | undefined }) {
  const [trouble, setTrouble] = useState("");
  if (!me?.name) return null;
  const leave = () => signOut().then(() => location.assign("/"), (error: Refusal) => setTrouble(error.message));
  return (
    <span class="who">
      <span class="faint">
        {trouble || `${me.name} · ${me.tenant}`}
      </span>{" "}
      <button class="quiet" onClick={() => void leave()}>
        Sign out
      </button>
    </span>
  );
}
