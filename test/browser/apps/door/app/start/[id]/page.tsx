import { Suspense } from "react";

export default function Page({ params }: { params: Promise<{ id: string }> }) {
  return (
    <Suspense>
      <Started params={params} />
    </Suspense>
  );
}

async function Started({ params }: { params: Promise<{ id: string }> }) {
  return <output>{(await params).id}</output>;
}
