export { createNotifyProvider, type NotifyProviderOptions } from "./create-notify-provider.ts";
