// Package resume goes on with a dataset that is there: append, adoption of a dataset of another program, recovery of a dead writer's.
package resume
