/** The URL of the user that API and workers connect as, on the server of its owner's URL; migrating makes that user. */
export function serviceUrlOf(ownerUrl: string, password: string): string {
  const url = new URL(ownerUrl);
  url.username = 'promptlane_service';
  url.password = password;
  return url.href;
}
