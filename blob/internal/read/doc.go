// Package read opens and reads datasets. It has manifests and headers, maps, windows and indexes, checksums, collective reads,
// and the canonical file, which is computed on demand.
package read
