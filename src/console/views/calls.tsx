export function Calls() {
  return <p />;
}
