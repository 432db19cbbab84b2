# PowerShell completion for aops. Load it with: aops completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName aops -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '' }
    & aops __complete '--' @words 2>$null | ForEach-Object {
        if ($_ -eq ':files' -or $_ -eq ':directories') {
            $kind = if ($_ -eq ':directories') { @{ Directory = $true } } else { @{} }
            Get-ChildItem -Path "$wordToComplete*" @kind | ForEach-Object {
                [System.Management.Automation.CompletionResult]::new($_.Name, $_.Name, 'ProviderItem', $_.Name)
            }
        } else {
            $word, $summary = $_ -split "`t", 2
            if (-not $summary) { $summary = $word }
            [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $summary)
        }
    }
}
