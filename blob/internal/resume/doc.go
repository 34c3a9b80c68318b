// Package resume continues existing datasets: append, adoption of a dataset without a manifest, and recovery after a
// dead writer.
package resume
