# Formula of a Homebrew tap. `packaging/build formula` makes it from a template.
class Svc < Formula
  desc "@SUMMARY@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_linux do
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/svc-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_X86_64@"
    end
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/svc-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_AARCH64@"
    end
  end

  # There are no archives for macOS yet: they must be built on a Mac.
  depends_on :linux

  def install
    bin.install "svc"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/svc.bash" => "svc"
    zsh_completion.install "completions/_svc.zsh" => "_svc"
    fish_completion.install "completions/svc.fish"
    pkgshare.install "THIRD-PARTY.txt", "sbom.cdx.json", "config.default.toml"
  end

  service do
    run [opt_bin/"svc", "server", "start", "--data-dir", var/"svc"]
    keep_alive true
    log_path var/"log/svc.log"
    error_log_path var/"log/svc.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/svc version")
  end
end
