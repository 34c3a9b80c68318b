// Package dataset holds what all of package blob speaks of: Schema, Options, Layout, the headers of subfiles, and the place of each element in them.
package dataset
