// Package dataset has the basic types of package blob: Schema, Options, Layout, the headers of subfiles, and the offsets of
// data.
package dataset
