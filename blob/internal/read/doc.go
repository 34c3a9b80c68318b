// Package read opens datasets and reads them: manifests and headers, maps, windows and indexes, checksums, collective reads, and the canonical file computed as it is read.
package read
