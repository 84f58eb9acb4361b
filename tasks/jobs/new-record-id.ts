/** A fresh UUID of version 7 for a record. */
export { newJobId as newRecordId } from "../new-job-id.ts";
