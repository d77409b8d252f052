# The template of Homebrew's formula. It has no version and no checksum of its own: `.ci/dist` fills the places between two @ with those
# of the tarballs it has just made, and with FATHOM_RELEASES, the address that releases are loaded from. `.ci/test packages` fills it too.
class Fathom < Formula
  desc "Explains JVM slowdowns whose cause lies below the Java code"
  version "@version@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "@releases@/fathom-@version@-linux-x86_64.tar.gz"
    sha256 "@x86_64@"
  end

  on_arm do
    url "@releases@/fathom-@version@-linux-aarch64.tar.gz"
    sha256 "@aarch64@"
  end

  def install
    bin.install "bin/fathom"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/fathom"
    zsh_completion.install "share/zsh/site-functions/_fathom"
    fish_completion.install "share/fish/vendor_completions.d/fathom.fish"
    doc.install Dir["share/doc/fathom/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/fathom --version")
    assert_match "code_cache_full", shell_output("#{bin}/fathom causes")
  end
end
