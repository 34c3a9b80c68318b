//go:build race

package ffstore

const raceEnabled = true
