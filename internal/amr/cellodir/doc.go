// Package cellodir handles the file names of Cello checkpoint directories, and their lists of files and blocks. It also
// determines the state of a directory: whole, being written, or left by a dead writer. Package amr/cello reads and writes the
// files.
package cellodir
