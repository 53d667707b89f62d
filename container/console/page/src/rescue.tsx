import { useState } from "preact/hooks";

import { keep, lastName, shownPath } from "./files_api";
import { forgetDraft, unsaved } from "./text_file";

/** Edits that were not saved in a sandbox that is gone: a person can keep them. */
export function Rescue({ sandbox }: { sandbox: string }) {
  const [places, setPlaces] = useState(() => unsaved(sandbox));
  if (places.length === 0) return null;
  const take = (place: string) => {
    const text = forgetDraft(sandbox, place);
    if (text !== undefined) keep(new Blob([text], { type: "application/octet-stream" }), shownPath(lastName(place)));
    setPlaces(unsaved(sandbox));
  };
  return (
    <>
      <p>Your edits of these files were not saved. They are kept until you leave this page:</p>
      <p class="bar">
        {places.map((place) => (
          <button key={place} onClick={() => take(place)}>
            Download {shownPath(place)}
          </button>
        ))}
      </p>
    </>
  );
}
