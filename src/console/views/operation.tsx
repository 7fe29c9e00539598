export function Operation({ id }: { id: string }) {
  return <p>{id}</p>;
}
