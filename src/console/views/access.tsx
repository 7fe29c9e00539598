export function Access() {
  return <p />;
}
