// Package resume continues existing datasets: append, adoption of a foreign dataset, and recovery after a dead writer.
package resume
