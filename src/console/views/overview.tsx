export function Overview() {
  return <p />;
}
