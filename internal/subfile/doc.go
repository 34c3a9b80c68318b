// Package subfile assigns ranks to the files of a dataset, names and commits the files, and limits the number of open files.
// Package blob does all this for its callers. The public package subfile is for readers of manifests.
//
//	Grouping, Assign     which rank writes which subfile
//	Name, Split, Base    names: F_h0.nc.0000 and so on
//	Manifest             the seal of a dataset: files, sizes, records, checksums
//	Find, List           datasets of a directory, by the names of files
//	ReadState, Recover   which state is in force; finishing or undoing a commit
//	Pool                 open files up to a limit
//
// The manifest F_h0.nc.manifest commits a dataset. A replacing writer writes F_h0.nc.manifest.next first. If this file is
// prepared, it is in force instead of the manifest: all bytes of the new dataset are durable, and at most renames are
// missing. If it is not prepared, it only announces the writer. Comments call both files records. So a dataset stays
// readable until its replacement is whole. A dataset without a manifest is foreign: another program wrote it.
//
// docs/format-manifest.md has names, states, fields, checksums, and the steps of a commit.
//
// Read first: manifest.go, log.go, state.go.
package subfile
