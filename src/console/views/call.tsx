export function CallView({ place }: { place: string }) {
  return <p>{place}</p>;
}
