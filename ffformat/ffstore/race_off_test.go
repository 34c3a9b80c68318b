//go:build !race

package ffstore

const raceEnabled = false
