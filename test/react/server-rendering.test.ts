import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { createConnection, useJob, useStartJob } from "../../src/react/index.ts";

const connection = createConnection({
  fetch: () => {
    throw new Error("asked on the server");
  },
});

function Page({ id }: { id: string | null }) {
  const start = useStartJob("assess", { connection });
  const { job, error, isLoading, isPolling } = useJob(id, { connection });
  return JSON.stringify({ job, error, isLoading, isPolling, starting: start.isStarting });
}

function render(id: string | null): object {
  return JSON.parse(renderToString(createElement(Page, { id })).replaceAll("&quot;", '"'));
}

test("on a server, where there is no document, a job is being loaded and nothing is asked", () => {
  expect(globalThis).not.toHaveProperty("document");
  expect(render("a")).toEqual({
    job: null,
    error: null,
    isLoading: true,
    isPolling: true,
    starting: false,
  });
  expect(render(null)).toMatchObject({ isLoading: false, isPolling: false });
});
