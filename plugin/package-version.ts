/** Version of this package, held to package.json by a test. */
export const packageVersion = "0.1.0";
