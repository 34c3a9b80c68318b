// Package dataset has the basic types of package blob: Schema, Options, Layout, the headers of subfiles, and the offset of each
// element.
package dataset
