/** Types of files that messages name. */

/** A file that messages of the account may name: `{type: "file", file, mediaType, filename}`. */
export interface StoredFile {
  /** `sha256:` and 64 hexadecimal digits. */
  file: string;
  name: string;
  /** An image's by its content, any other's as it was declared. */
  media_type: string;
  size_bytes: number;
}

export interface UploadOptions {
  /** Default: the file's own name. */
  name?: string;
  /** Called with the share that was sent, from 0 to 1. */
  onProgress?: (sent: number) => void;
  /** Stops the upload, which then rejects with `aborted`. */
  signal?: AbortSignal;
}
