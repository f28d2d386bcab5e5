// Package rowcodec writes the parts of a job that a database need not look into as the
// texts that the SQL stores keep in the columns of a row, and reads them back. A part
// that a job does not have is the empty text, which stores keep as NULL.
//
// What it writes is stored: a field may be added, but a name that has been released
// keeps its meaning.
package rowcodec
