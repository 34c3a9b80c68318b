// Package subfile says which rank writes which file of a dataset, what those files
// are called, how a dataset is committed, and how many of its files may be open at
// once. Package blob does all of that for its callers; public package subfile has what a reader of manifests calls.
//
//	Grouping, Assign     which rank writes which subfile
//	Name, Split, Base    names: F_h0.nc.0000 and so on
//	Manifest             the seal of a dataset: files, sizes, records, checksums
//	Find, List           datasets of a directory, by the names of files
//	ReadState, Recover   which state is in force; finishing or undoing a commit
//	Pool                 open files under a cap
//
// The manifest F_h0.nc.manifest commits. While it is being replaced the seal
// that counts is F_h0.nc.manifest.next if that is prepared, which means that every
// byte of the dataset was durable before it was written; only renames can be
// outstanding then. So a dataset that is being replaced stays readable until the
// instant at which the new one is whole. A dataset without manifest is foreign:
// another program wrote it.
//
// docs/format-manifest.md has names, states, fields, checksums, and the steps of a
// commit.
//
// Read first: manifest.go, log.go, state.go.
package subfile
