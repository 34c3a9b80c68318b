// Package cellodir has the names of the files of a checkpoint directory of Cello, its lists of files and blocks, and the states of such a directory: whole,
// being written, left by a dead writer. Package amr/cello reads and writes the files.
package cellodir
