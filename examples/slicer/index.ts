export { createFolderWorkshop } from "./provider/create-folder-workshop.ts";
export { createSlicerProvider, type SlicerProviderOptions } from "./provider/create-slicer-provider.ts";
export type { Workshop } from "./provider/workshop.ts";
