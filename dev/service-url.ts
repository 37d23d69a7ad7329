/**
 * Returns the URL for the user of API and workers, on the server of the URL of the owner. The
 * migrations create this user.
 */
export function serviceUrlOf(ownerUrl: string, password: string): string {
  const url = new URL(ownerUrl);
  url.username = 'promptlane_service';
  url.password = password;
  return url.href;
}
