package io.election.embedded;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;

/**
 * A folder that only its owner, this process's user, can enter. Others may know its path and create
 * it first, so what is found there is trusted only if nobody else can have written it.
 */
public final class PrivateFolder {

  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");

  private static final Set<PosixFilePermission> OWNER_FILE =
      PosixFilePermissions.fromString("rw-------");

  private PrivateFolder() {}

  /**
   * Creates a folder, and its parents as usual, or checks one that is there; closes a folder that
   * others could only read. Checks nothing on file systems without POSIX permissions.
   *
   * @throws FileSystemException if it is a link, belongs to another user, or others can write it
   */
  public static Path create(Path path) throws IOException {
    Path folder = path.toAbsolutePath();
    if (!hasOwners(folder)) {
      return Files.createDirectories(folder);
    }
    Files.createDirectories(folder.resolveSibling(""));
    try {
      Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
    } catch (FileAlreadyExistsException ex) {
      // Checked like one just created.
    }
    PosixFileAttributes found =
        Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    if (!found.isDirectory()) {
      throw refusal(folder, "is a link or a file, not a folder");
    }
    if (!found.owner().equals(user())) {
      throw refusal(folder, "belongs to the user " + found.owner().getName());
    }
    Set<PosixFilePermission> permissions = found.permissions();
    if (permissions.contains(PosixFilePermission.GROUP_WRITE)
        || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
      throw refusal(folder, "can be written by other users");
    }
    if (!permissions.equals(OWNER_ONLY)) {
      Files.setPosixFilePermissions(folder, OWNER_ONLY);
    }
    return folder;
  }

  /** Writes a text file that only the owner can read; it is never found half written. */
  public static Path write(Path file, String text) throws IOException {
    Path unfinished = file.resolveSibling(file.getFileName() + ".new");
    Files.deleteIfExists(unfinished);
    FileAttribute<?>[] attributes = hasOwners(file)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER_FILE)}
        : new FileAttribute<?>[0];
    Files.writeString(Files.createFile(unfinished, attributes), text);
    return Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
  }

  private static boolean hasOwners(Path path) {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** The owner of a file just created: user.name may be set, and is not unique. */
  private static UserPrincipal user() throws IOException {
    Path file = Files.createTempFile("election-", ".owner");
    try {
      return Files.getOwner(file, LinkOption.NOFOLLOW_LINKS);
    } finally {
      Files.delete(file);
    }
  }

  private static FileSystemException refusal(Path folder, String reason) {
    return new FileSystemException(
        folder.toString(), null, "it " + reason + "; delete it or use another folder");
  }
}
