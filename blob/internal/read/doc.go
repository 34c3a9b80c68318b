// Package read opens and reads datasets: manifests and headers, maps, data with their checksums, collective reads, and
// canonical files, which are computed on demand.
package read
