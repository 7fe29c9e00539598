export function Sources({ selected }: { selected: string }) {
  return <p>{selected}</p>;
}
